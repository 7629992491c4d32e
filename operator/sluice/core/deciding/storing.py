"""Situations, policies and settings as versioned plain data, and the same decision from them again.

A record is a few kilobytes: the situation in its compact form, the policy by its name, the settings, and what was
decided. What cannot be read raises CorruptState.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import time
from typing import Any

from sluice.core.deciding.compacting import compacted
from sluice.core.deciding.deciding import decide
from sluice.core.deciding.decision import Decision, Policy
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.harms import harm_from_data
from sluice.core.deciding.policies.named import name_of, parameters_of, policy_named
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
            policy=policy_named(stored["policy"], **stored["parameters"]),
            settings=_settings(stored["settings"]),
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
        smallest, largest = stored["bounds"]
        return Situation(
            at=float(stored["at"]),
            bounds=Bounds(smallest=int(smallest), largest=int(largest)),
            executors=int(stored["executors"]),
            running=int(stored["running"]),
            observed=_observations(stored["observed"]),
            history=tuple((float(at), float(rate)) for at, rate in _rows(stored["history"])),
            forecast=_forecast(stored["forecast"]),
            models=_models(stored),
            targets=Targets(**stored["targets"]),
            batching=_batching(stored["batching"]),
            activity=Activity(stored["activity"]),
            mode=Mode(stored["mode"]),
            uptime=float(stored["uptime"]),
            since_rescale=stored["since_rescale"],
            live=bool(stored["live"]),
            wishes=tuple(
                Wish(at=float(at), executors=int(executors), applied=bool(applied))
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


def _batching(stored: Mapping[str, Any]) -> Batching:
    # Releases that did not know of it stored none.
    fetching = stored.get("fetching")
    return Batching(**{**stored, "fetching": None if fetching is None else Fetching(**fetching)})


def _observations(stored: Mapping[str, Any]) -> Observations:
    return Observations(**{name: _measured(value) for name, value in stored.items()})


def _measured(stored: object) -> Any:
    return NoData(stored) if isinstance(stored, str) else float(stored)  # type: ignore[arg-type]  # else CorruptState


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
    return Models(
        capacity=capacity.from_data(stored["capacity"]),
        latency=latency.from_data(stored["latency"]),
        downtimes=downtime.from_data(stored["downtimes"]),
    )


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


def _settings(stored: Mapping[str, Any]) -> Settings:
    blackouts = tuple(
        Window(
            start=time.fromisoformat(window["start"]),
            end=time.fromisoformat(window["end"]),
            days=frozenset(window["days"]),
            time_zone=window["time_zone"],
        )
        for window in stored["blackouts"]
    )
    return Settings(**{**stored, "blackouts": blackouts})
