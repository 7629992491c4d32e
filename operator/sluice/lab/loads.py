"""Loads by name and from files.

A file has two columns, times and rows per second: as CSV with or without a head, as Parquet, or as the JSON of a
Prometheus range query. Times are seconds, milliseconds and finer since 1970, or as in 2026-01-31T20:00:00Z. Small flaws
are repaired and told; where a repair would be a guess, the file is refused.
"""

import csv
import json
import math
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sluice.core.simulation.samples import LONGEST_TRACE, repaired
from sluice.core.simulation.suites import PEAK, SETS, named_trace
from sluice.core.simulation.trace import Rates, Trace
from sluice.errors import InvalidSpec, Problem
from sluice.finite import Finite

HOURS = Finite(min=0.1, max=LONGEST_TRACE // 3600)
"""How much of a load may be asked for: no load is longer than a year."""

FORMATS = "a .csv, .parquet or .json file"

MISSING = frozenset({"", "null", "none"})
"""How files write that there is no number, beside NaN."""

TWO_COLUMNS = "each line has a time (seconds, or as 2026-01-31T20:00:00Z), a comma, and rows per second without one"

SEPARATORS = {";": "';'", "\t": "tabs"}
"""Not read: where they separate columns, a comma may be the point of a number."""

JSON = ("{", "[")
"""What JSON begins with, and no line of CSV."""

MOST_SHOWN = 200
"""Characters of what is wrong: a line can have millions."""

GZIP = b"\x1f\x8b"

Converters = Mapping[int | str, Callable[[str], float]]
"""How columns are read that are more than numbers, by their places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A load by its name in a suite, or by the path of its file, of which it is told what was repaired."""

    name: str
    path: Path | None = None
    repairs: tuple[str, ...] = ()

    @property
    def suite(self) -> str:
        """Whether it serves tuning or reporting, or is the user's own."""
        if self.path is not None:
            return "own"
        return next(suite for suite, shapes in SETS.items() if self.name in shapes)

    def trace(self, seed: int, peak: float) -> Trace:
        """The load for a plant of a size; what was measured is not scaled, and has no noise added."""
        if self.path is None:
            return named_trace(self.name, seed).scaled(peak / PEAK)
        trace, _ = read(self.path)
        return trace


def sources(words: Sequence[str]) -> tuple[Source, ...]:
    """The loads of names, of whole suites, and of files. Raises InvalidSpec."""
    found: dict[str, Source] = {}
    for word in words:
        for source in _meant(word):
            if found.setdefault(source.name, source) != source:
                remedy = f"rename the file: {source.name} is another load already"
                raise InvalidSpec([Problem("trace", word, remedy)])
    return tuple(found.values())


def _meant(word: str) -> list[Source]:
    if word in SETS:
        return [Source(name=name) for name in SETS[word]]
    known = [name for shapes in SETS.values() for name in shapes]
    if word in known:
        return [Source(name=word)]
    path = Path(word)
    if path.is_file():
        # Once more in each run, but nobody waits for those of other loads to be told that it is none.
        _, repairs = read(path)
        return [Source(name=path.stem, path=path, repairs=repairs)]
    remedy = f"choose {', '.join([*SETS, *known])}, or {FORMATS}"
    raise InvalidSpec([Problem("trace", word, remedy)])


def read(path: Path) -> tuple[Trace, tuple[str, ...]]:
    """Read a file; tells what was repaired. Raises InvalidSpec."""
    readers = {".csv": _csv, ".parquet": _parquet, ".json": _prometheus}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise _refusal(path, path.suffix or "no ending", f"give {FORMATS}")
    try:
        times, rates = reader(path)
    except OSError as error:
        raise _refusal(path, error.strerror or error, "give a file that can be read") from error
    return repaired(path.stem, times, rates)


def _csv(path: Path) -> tuple[Rates, Rates]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            first = [*islice(_told(lines), 2)]
        if first and first[0][1].startswith(JSON):
            raise _refusal(path, "JSON", f"name it {path.stem}.json")
        times = [line.partition(",")[0].strip(' "') for _, line in first]
        has_head = bool(first) and _is_head(first[0][1])
        head, times = (first[0][0], times[1:]) if has_head else (0, times)
        # A call of Python for each line takes its time, which files of seconds are spared.
        converters: Converters = {0: _moment} if any("-" in at for at in times) else {}
        try:
            table = _columns(path, head, converters)
        except ValueError:
            # So are files without missing numbers.
            table = _columns(path, head, {0: _moment, 1: _rate})
    except UnicodeDecodeError as error:
        raise _undecodable(path) from error
    except (ValueError, IndexError) as error:
        raise _refusal(path, _mistake(path, head) or str(error), TWO_COLUMNS) from error
    if table.size and table.shape[1] != 2:
        raise _refusal(path, _mistake(path, head) or f"{table.shape[1]} columns", TWO_COLUMNS)
    return table[:, 0], table[:, -1]


def _told(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """What the lines of a file say, and their numbers: numpy skips empty ones and comments."""
    for number, line in enumerate(lines, start=1):
        told = line.partition("#")[0].strip()
        if told:
            yield number, told


def _mistake(path: Path, head: int) -> str | None:
    """The first line that cannot be read, by its number in the file: numpy tells that of the row."""
    with path.open(encoding="utf-8-sig") as lines:
        found = ((number, _flaw(line)) for number, line in _told(lines) if number > head)
        return next((f"line {number} {flaw}" for number, flaw in found if flaw), None)


def _flaw(line: str) -> str | None:
    try:
        cells = next(csv.reader([line]))
        if len(cells) == 2:
            _moment(cells[0])
            _rate(cells[1])
            return None
        flaw = f"has {len(cells)} columns"
    except (ValueError, csv.Error):
        flaw = f"is {line!r}"
    other = next((name for mark, name in SEPARATORS.items() if mark in line), None)
    return f"is separated by {other}" if other else flaw


def _undecodable(path: Path) -> InvalidSpec:
    with path.open("rb") as content:
        begin = content.read(2)
    if begin == GZIP:
        return _refusal(path, "compressed by gzip", f"unpack it: gunzip < {path.name} > load.csv")
    encoding = "UTF-16" if begin in (BOM_UTF16_LE, BOM_UTF16_BE) else "ISO-8859-1"
    value = "UTF-16" if encoding == "UTF-16" else "text that is not UTF-8"
    remedy = f"write it as UTF-8: iconv -f {encoding} -t UTF-8 < {path.name} > load.csv"
    return _refusal(path, value, remedy)


def _columns(path: Path, head: int, converters: Converters) -> Rates:
    with warnings.catch_warnings():
        # That a file is empty is said by those who need two samples.
        warnings.simplefilter("ignore", UserWarning)
        return np.loadtxt(
            path,
            delimiter=",",
            quotechar='"',
            skiprows=head,
            converters=converters or None,
            encoding="utf-8-sig",
            ndmin=2,
        )


def _is_head(line: str) -> bool:
    """Whether neither the time nor the rate of a first line is one: if one of them is, the other is a mistake."""
    time, rate, *_ = [cell.strip(' "') for cell in line.split(",")] + [""]
    return not (_is_read(_moment, time) or _is_read(float, rate))


def _is_read(read: Callable[[str], float], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _moment(text: str) -> float:
    """Seconds as they are, or those since 1970 of a time, which is in UTC where it names no zone."""
    try:
        return float(text)
    except ValueError:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _rate(told: object) -> float:
    """A number, which is NaN where it is missing."""
    text = str(told).strip()
    return math.nan if text.lower() in MISSING else float(text)


def _parquet(path: Path) -> tuple[Rates, Rates]:
    try:
        from pyarrow import parquet  # type: ignore[import-not-found,unused-ignore]  # optional
    except ImportError:
        remedy = "install pyarrow to read Parquet, or convert the file to CSV"
        raise _refusal(path, "Parquet", remedy) from None
    try:
        table = parquet.read_table(path)
        if table.num_columns != 2:
            raise ValueError(f"{table.num_columns} columns")
        return _seconds(table.column(0)), _rates(table.column(1))
    except (ValueError, TypeError, KeyError, OSError) as error:
        remedy = "it has two columns, the times and then rows per second"
        raise _refusal(path, str(error), remedy) from error


def _seconds(times: ArrayLike) -> Rates:
    found = np.asarray(times)
    if found.dtype.kind == "M":
        found = (found - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return found.astype(float)


def _rates(found: ArrayLike) -> Rates:
    # pandas writes an index of times behind the columns.
    if np.asarray(found).dtype.kind == "M":
        raise ValueError("times in the second column")
    return np.asarray(found, dtype=float)


def _prometheus(path: Path) -> tuple[Rates, Rates]:
    try:
        answer: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        found = _series(path, answer)
        samples = [sample for series in found for sample in series["values"]]
        table = np.array([[float(at), _rate(rate)] for at, rate in samples], dtype=float)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        remedy = "export it from /api/v1/query_range, which has data.result[].values"
        raise _refusal(path, repr(error), remedy) from error
    if not found:
        remedy = "nothing matched the query in that time: look at both, and export it again"
        raise _refusal(path, "0 series", remedy)
    if len(found) > 1:
        remedy = "sum the query over its labels, so that it gives one series"
        raise _refusal(path, f"{len(found)} series", remedy)
    if not samples:
        remedy = "ask for a time in which the query has values"
        raise _refusal(path, "a series without samples", remedy)
    return table[:, 0], table[:, 1]


def _series(path: Path, answer: Any) -> Any:
    """The result of an answer, or what has been taken out of it."""
    if isinstance(answer, list):
        return answer
    if answer.get("status") == "error":
        remedy = "so Prometheus says: mend the query, or take a longer step, and export it again"
        raise _refusal(path, answer.get("error"), remedy)
    data = answer.get("data", answer)
    kind = data.get("resultType", "matrix")
    if kind != "matrix":
        remedy = "export it from /api/v1/query_range, which tells a load over a time"
        raise _refusal(path, f"a {kind}", remedy)
    return data["result"]


def _refusal(path: Path, value: object, remedy: str) -> InvalidSpec:
    told = str(value)
    shown = told if len(told) <= MOST_SHOWN else f"{told[:MOST_SHOWN]}..."
    return InvalidSpec([Problem(f"trace file {path}", shown, remedy)])
