"""Situations, policies and settings as versioned plain data, and the same decision from them again.

A record is a few kilobytes: the situation in its compact form, the policy by its name, the settings, and what was
decided. What cannot be read raises CorruptState: whoever decides on a record need not look at its numbers again.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import time
from typing import Any

from sluice.core.deciding.compacting import compacted
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.harms import harm_from_data
from sluice.core.deciding.policies.named import name_of, parameters_of
from sluice.core.deciding.policies.wording import MOST_EXECUTORS, is_number, stored_policy
from sluice.core.deciding.situation import (
    Activity,
    Batching,
    Bounds,
    Forecast,
    Mode,
    Models,
    Observations,
    Situation,
    Targets,
    Wish,
)
from sluice.core.modelling import capacity, downtime, latency
from sluice.core.modelling.fetching import Fetching
from sluice.core.modelling.stored import Data, opened, sealed
from sluice.core.series import NoData
from sluice.core.windows import Window

VERSION = 1

LARGEST = 1e20
"""No quantity of a job is larger, and products of such numbers stay finite."""

LATEST = 1e11
"""Seconds since 1970, which are those of the year 5138."""

Reader = Callable[[Any], Any]
"""Takes a stored value as it is, or raises ValueError with what is expected in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """All that led to a decision."""

    situation: Situation
    policy: Policy
    settings: Settings

    def decided(self) -> Decision:
        """The decision, once more."""
        return decide(self.situation, self.policy, self.settings)

    def to_data(self) -> Data:
        """Plain data for `record_from_data`; of the policy and the settings, what differs from the defaults."""
        return sealed(
            "Decision",
            VERSION,
            situation=to_data(self.situation),
            policy=name_of(self.policy),
            parameters=parameters_of(self.policy),
            settings=_settings_data(self.settings),
        )


def record_from_data(data: object) -> Record:
    """Read what `Record.to_data` wrote. Raises CorruptState."""
    with opened(data, "Decision", VERSION) as stored:
        return Record(
            situation=from_data(stored["situation"]),
            policy=stored_policy(stored["policy"], stored["parameters"]),
            settings=Settings(**_read(stored["settings"], SETTINGS)),
        )


def to_data(situation: Situation) -> Data:
    """Plain data for `from_data`."""
    compact = compacted(situation)
    return sealed(
        "Situation",
        VERSION,
        at=compact.at,
        bounds=[compact.bounds.smallest, compact.bounds.largest],
        executors=compact.executors,
        running=compact.running,
        observed=_plain(compact.observed),
        history=[list(column) for column in zip(*compact.history, strict=True)],
        forecast=_forecast_data(compact.forecast),
        capacity=compact.models.capacity.to_data(),
        latency=compact.models.latency.to_data(),
        downtimes=compact.models.downtimes.to_data(),
        targets=_plain(compact.targets),
        batching=_batching_data(compact.batching),
        activity=compact.activity.value,
        mode=compact.mode.value,
        uptime=compact.uptime,
        since_rescale=compact.since_rescale,
        live=compact.live,
        wishes=[[wish.at, wish.executors, int(wish.applied)] for wish in compact.wishes],
        notes=dict(compact.notes),
        harms=[harm.to_data() for harm in compact.harms],
    )


def from_data(data: object) -> Situation:
    """Read what `to_data` wrote. Raises CorruptState."""
    with opened(data, "Situation", VERSION) as stored:
        return Situation(
            **_read({name: stored[name] for name in SITUATION}, SITUATION),
            history=tuple((float(at), float(rate)) for at, rate in _rows(stored["history"])),
            forecast=_forecast(stored["forecast"]),
            models=_models(stored),
            wishes=tuple(
                Wish(at=float(at), executors=_count(executors), applied=bool(applied))
                for at, executors, applied in stored["wishes"]
            ),
            notes={str(name): float(number) for name, number in stored["notes"].items()},
            # Releases that did not judge rescales stored none.
            harms=tuple(map(harm_from_data, stored.get("harms", ()))),
        )


def _plain(record: Any) -> Data:
    """The fields of a flat record; what could not be measured becomes its reason."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {
        name: value.reason if isinstance(value, NoData) else value for name, value in values.items()
    }


def _batching_data(batching: Batching) -> Data:
    fetching = None if batching.fetching is None else _plain(batching.fetching)
    return {**_plain(batching), "fetching": fetching}


def _rows(columns: list[list[float]]) -> list[tuple[float, ...]]:
    return list(zip(*columns, strict=True))


def _forecast_data(forecast: Forecast | NoData) -> Data | str:
    if isinstance(forecast, NoData):
        return forecast.reason
    return {
        name: value if isinstance(value, str) else list(value)
        for name, value in _plain(forecast).items()
    }


def _forecast(stored: str | Mapping[str, Any]) -> Forecast | NoData:
    if isinstance(stored, str):
        return NoData(stored)
    columns = ("times", "rates", "low", "high")
    times, rates, low, high = (tuple(map(float, stored[column])) for column in columns)
    words = {name: str(stored[name]) for name in ("model", "note")}
    return Forecast(times=times, rates=rates, low=low, high=high, **words)


def _models(stored: Mapping[str, Any]) -> Models:
    models = Models(
        capacity=capacity.from_data(stored["capacity"]),
        latency=latency.from_data(stored["latency"]),
        downtimes=downtime.from_data(stored["downtimes"]),
    )
    for point in (*models.latency.profiled, *models.latency.observed):
        _count(point.executors)
    return models


def _settings_data(settings: Settings) -> Data:
    blackouts = [
        {
            "start": f"{window.start:%H:%M}",
            "end": f"{window.end:%H:%M}",
            "days": sorted(window.days),
            "time_zone": window.time_zone,
        }
        for window in settings.blackouts
    ]
    return {**_plain(replace(settings, blackouts=())), "blackouts": blackouts}


def _read(stored: Mapping[str, Any], readers: Mapping[str, Reader]) -> Data:
    """The fields that are stored, each by its reader: older releases stored fewer."""
    found: Data = {}
    for name, value in stored.items():
        if name not in readers:
            raise ValueError(f"{name!r:.40} is none of {', '.join(readers)}")
        try:
            found[name] = readers[name](value)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def _number(least: float = 0.0, most: float = LARGEST) -> Reader:
    def read(stored: Any) -> Any:
        if is_number(stored) and least <= stored <= most:
            return stored
        raise ValueError(f"{stored!r:.40} where a number from {least:g} to {most:g} is expected")

    return read


def _whole(least: int = 0, most: int = capacity.MOST_EXECUTORS) -> Reader:
    def read(stored: Any) -> int:
        if is_number(stored) and least <= stored <= most and stored == int(stored):
            return int(stored)
        raise ValueError(f"{stored!r:.40} where a whole number from {least} to {most} is expected")

    return read


def _one_of(kind: type) -> Reader:
    def read(stored: Any) -> Any:
        if isinstance(stored, kind):
            return stored
        raise ValueError(f"{stored!r:.40} where a {kind.__name__} is expected")

    return read


def _optional(reader: Reader) -> Reader:
    return lambda stored: None if stored is None else reader(stored)


def _record(kind: Callable[..., Any], readers: Mapping[str, Reader]) -> Reader:
    return lambda stored: kind(**_read(stored, readers))


def _measured(stored: object) -> Any:
    return NoData(stored) if isinstance(stored, str) else _quantity(stored)


def _bounds(stored: Any) -> Bounds:
    # Each number within the bounds is looked at.
    smallest, largest = map(_whole(1, MOST_EXECUTORS), stored)
    return Bounds(smallest=smallest, largest=largest)


def _clock(stored: Any) -> time:
    found = time.fromisoformat(stored)
    if found.tzinfo is not None:
        raise ValueError(f"{stored!r:.40} where a time without a zone is expected")
    return found


def _blackouts(stored: Any) -> tuple[Window, ...]:
    return tuple(
        Window(
            start=_clock(window["start"]),
            end=_clock(window["end"]),
            days=frozenset(window["days"]),
            time_zone=window["time_zone"],
        )
        for window in stored
    )


_quantity, _count = _number(), _whole()

OBSERVED: Mapping[str, Reader] = {
    **{field.name: _measured for field in fields(Observations)},
    # Where the clock was set back, nobody knows it.
    "age": _number(most=math.inf),
}

TARGETS: Mapping[str, Reader] = {field.name: _optional(_quantity) for field in fields(Targets)}

FETCHING: Mapping[str, Reader] = {"partitions": _whole(1), "longest": _quantity}

BATCHING: Mapping[str, Reader] = {
    "overhead": _quantity,
    "shared": _quantity,
    "period": _quantity,
    "most_rows": _optional(_number(least=1)),
    "fetching": _optional(_record(Fetching, FETCHING)),
    "cores": _whole(1),
}

SETTINGS: Mapping[str, Reader] = {
    "staleness": _quantity,
    "cooldown": _quantity,
    "blackouts": _blackouts,
    "max_step": _optional(_count),
    "error_budget": _optional(_number(least=-LARGEST)),
    "grant": _optional(_count),
    "approved": _optional(_count),
    "untold": _optional(_one_of(str)),
}

SITUATION: Mapping[str, Reader] = {
    "at": _number(most=LATEST),
    "bounds": _bounds,
    "executors": _whole(1),
    "running": _count,
    "observed": _record(Observations, OBSERVED),
    "targets": _record(Targets, TARGETS),
    "batching": _record(Batching, BATCHING),
    "activity": Activity,
    "mode": Mode,
    "uptime": _quantity,
    "since_rescale": _optional(_quantity),
    "live": _one_of(bool),
}
"""The fields that a reader suffices for."""
