"""A failed program's last words."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.agent import farewell, pack


def last_words(tmp_path: Path, program: str | None) -> dict[str, str] | None:
    """What a program leaves when it runs under the packed agent; None for a missing one."""
    agent, main, log = tmp_path / "agent.pyz", tmp_path / "main.py", tmp_path / "log"
    agent.write_bytes(pack.packed())
    if program is not None:
        main.write_text(program)
    environment = {**os.environ, farewell.PATH_VARIABLE: str(log), "SLUICE_AGENT_PORT": "0"}
    subprocess.run([sys.executable, str(agent), str(main)], env=environment, capture_output=True)
    found: dict[str, str] | None = json.loads(log.read_text()) if log.exists() else None
    return found


def test_an_uncaught_exception_is_told_by_class_message_and_place(tmp_path: Path) -> None:
    program = "import json\ndef read():\n    json.loads('{')\nread()"
    assert last_words(tmp_path, "raise KeyError('ad_id')") == {
        "class": "KeyError",
        "message": f"'ad_id' ({tmp_path}/main.py, line 1)",
    }
    words = last_words(tmp_path, program)
    assert words is not None
    assert words["class"] == "JSONDecodeError"
    assert words["message"].endswith(f" ({tmp_path}/main.py, line 3)"), (
        "and not a line of a library"
    )


def test_a_missing_program_is_told_by_its_path(tmp_path: Path) -> None:
    words = last_words(tmp_path, None)
    assert words is not None
    assert f"can't open file '{tmp_path}/main.py'" in words["message"]


def test_an_exit_with_a_text_is_told(tmp_path: Path) -> None:
    words = last_words(tmp_path, "import sys; sys.exit('no topic given')")
    assert words is not None
    assert words["message"] == "no topic given"


@pytest.mark.parametrize("program", ["pass", "import sys; sys.exit(3)"])
def test_a_program_that_said_nothing_leaves_the_log_to_tell(tmp_path: Path, program: str) -> None:
    assert last_words(tmp_path, program) is None


def test_last_words_fit_into_what_the_kubelet_keeps(tmp_path: Path) -> None:
    words = last_words(tmp_path, "raise ValueError('\\U0001f525' * 9000)")
    assert words is not None
    assert len((tmp_path / "log").read_bytes()) <= 4096


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import json; raise ValueError(json.loads('\"cut off \\\\ud83d\"'))", "cut off ?"),
        ("import sys; sys.exit('no file \\udce9')", "no file ?"),
    ],
)
def test_last_words_with_half_a_character_are_left_as_any(
    tmp_path: Path, program: str, told: str
) -> None:
    words = last_words(tmp_path, program)
    assert words is not None
    assert told in words["message"]


def test_of_errors_that_tasks_raise_together_the_first_is_told(tmp_path: Path) -> None:
    program = """
import asyncio
async def read():
    raise KeyError('ad_id')
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(read())
asyncio.run(main())
"""
    assert last_words(tmp_path, program) == {
        "class": "KeyError",
        "message": f"'ad_id' ({tmp_path}/main.py, line 4)",
    }


def test_a_failed_query_is_told_without_its_plan(tmp_path: Path) -> None:
    told = "[STREAM_FAILED] no broker\\\\n=== Streaming Query ===\\\\nLogical Plan: ..."
    words = last_words(tmp_path, f"raise RuntimeError('{told}')".replace("\\\\", "\\"))
    assert words is not None
    assert words["message"].startswith("[STREAM_FAILED] no broker (")
    assert "Plan" not in words["message"]
