"""Tell of a long error the lines by which people find what to mend.

Spark's errors begin with what has failed and end, behind dozens of its own frames, with what the program raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What a failed query says comes first; its whole plan follows and would fill any limit.
_PLAN_OF_QUERY = "=== Streaming Query ==="
_BRANCH_OF_PLAN = re.compile(r"[\s:]*[+:]- ")

_JAVA_FRAME = re.compile(r"\s+at [\w.$<>/]+\(|\s+\.\.\. \d+ more|Driver stacktrace:")
_PYTHON_FRAME = re.compile(r'\s*File "')
_FRAME_OF_SPARK = re.compile(r'\s*File "[^"]*/(pyspark|py4j)[/.-]')
_CARETS = re.compile(r"\s+[\^~]+\s*$")

_LEFT_OUT = " ... "


def essence(text: str, most: int) -> str:
    """Return what the program did and raised, without plans and frames of Spark's, in as many characters."""
    told = "\n".join(_without_frames(_without_plans(text).splitlines())).strip()
    if len(told) <= most:
        return told
    beginning = (most - len(_LEFT_OUT)) // 2
    return told[:beginning] + _LEFT_OUT + told[beginning + len(_LEFT_OUT) - most :]


def _without_plans(text: str) -> str:
    told, _, _ = text.partition(_PLAN_OF_QUERY)
    lines = told.splitlines()
    for number, line in enumerate(lines):
        if number and _BRANCH_OF_PLAN.match(line):
            return "\n".join(lines[: number - 1])
    return told


def _without_frames(lines: list[str]) -> Iterator[str]:
    is_of_spark = False
    for line in lines:
        if _PYTHON_FRAME.match(line):
            is_of_spark = _FRAME_OF_SPARK.match(line) is not None
        elif not line.startswith("    "):
            is_of_spark = False
        if is_of_spark or not line.strip() or _JAVA_FRAME.match(line) or _CARETS.match(line):
            continue
        yield line.rstrip()
