"""Ask the Prometheus that the operator asks: through the API server where it is a service, else directly.

Without it the pages still tell what the statuses tell, so whatever fails here is a `MetricsUnavailable`.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import urlsplit

import requests

from sluice.console.cluster import Cluster, in_short
from sluice.console.installation import Installation
from sluice.console.trouble import Trouble
from sluice.core.series import Slices
from sluice.errors import MetricsUnavailable
from sluice.ports import Json, Labelled

DEADLINE_SECONDS = 10.0

_SERVICE = re.compile(r"(?P<name>[a-z0-9-]+)\.(?P<namespace>[a-z0-9-]+)\.svc(\.[a-z0-9.-]+)?")


class Source(Protocol):
    """A way to the HTTP API of a Prometheus. Raises MetricsUnavailable."""

    def get(self, path: str, query: Mapping[str, str]) -> Json:
        """The JSON at a path below its address."""


@dataclass(frozen=True, slots=True)
class Direct:
    """A server that this machine can reach."""

    url: str

    def get(self, path: str, query: Mapping[str, str]) -> Json:
        """The JSON at a path below its address."""
        try:
            answer = requests.get(f"{self.url}/{path}", params=query, timeout=DEADLINE_SECONDS)
            answer.raise_for_status()
            answered: Json = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise MetricsUnavailable(f"{self.url}: {in_short(error)}") from error
        return answered

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class Proxied:
    """A service of the cluster, reached through the API server: whoever may use its proxy needs no port-forward."""

    cluster: Cluster
    url: str
    path: str

    def get(self, path: str, query: Mapping[str, str]) -> Json:
        """The JSON at a path below its address."""
        try:
            return self.cluster.get(f"{self.path}/{path}", **query)
        except Trouble as error:
            told = error.args[0]
            raise MetricsUnavailable(f"{self.url}, through the API server: {told}") from error

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Questions in PromQL, and what it tells of itself."""

    source: Source

    def now(self, query: str) -> list[Labelled]:
        """The value of each series at the server's present moment."""
        return _read(self._data("api/v1/query", {"query": query}))

    def history(self, query: str, slices: Slices) -> list[Labelled]:
        """The values of each series at the start of each slice."""
        last = slices.end - slices.step
        return _read(
            self._data(
                "api/v1/query_range",
                {
                    "query": query,
                    "start": f"{slices.start.timestamp():.3f}",
                    "end": f"{last.timestamp():.3f}",
                    "step": f"{slices.step.total_seconds():g}",
                },
            )
        )

    def clock(self) -> datetime:
        """The server's own time."""
        answered = self._data("api/v1/query", {"query": "time()"})
        try:
            return datetime.fromtimestamp(float(answered["result"][1]), UTC)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise MetricsUnavailable(f"{self.source}: not an answer of Prometheus") from error

    def rules(self) -> list[Json]:
        """The recording rules that it has loaded."""
        groups = self._data("api/v1/rules", {"type": "record"})["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def targets(self) -> list[Json]:
        """What it scrapes now."""
        found: list[Json] = self._data("api/v1/targets", {"state": "active"})["activeTargets"]
        return found

    def _data(self, path: str, query: Mapping[str, str]) -> Any:
        answered = self.source.get(path, query)
        if not isinstance(answered, dict) or answered.get("status") != "success":
            raise MetricsUnavailable(f"{self.source}: not an answer of Prometheus")
        return answered["data"]


def source_of(url: str, cluster: Cluster) -> Source:
    """The way to an address: `http://SERVICE.NAMESPACE.svc:PORT` means nothing outside the cluster."""
    path = service_path(url)
    return Proxied(cluster, url, path) if path is not None else Direct(url.rstrip("/"))


def service_path(url: str) -> str | None:
    """Where the API server serves a service's address; None if it is none."""
    try:
        parts = urlsplit(url)
        asked = parts.port
    except ValueError:
        # No address at all: whoever asks there is told so.
        return None
    found = _SERVICE.fullmatch(parts.hostname or "")
    if found is None:
        return None
    secure = parts.scheme == "https"
    port = asked or (443 if secure else 80)
    name = f"{'https:' if secure else ''}{found['name']}:{port}"
    below = parts.path.rstrip("/")
    return f"/api/v1/namespaces/{found['namespace']}/services/{name}/proxy{below}"


def address(installed: Iterable[Installation], namespace: str | None) -> str:
    """The address that the operator of a namespace was given. Raises MetricsUnavailable if there is none."""
    concerned = [one for one in installed if namespace is None or one.looks_after(namespace)]
    for one in concerned:
        if one.prometheus is not None:
            return one.prometheus
    if concerned:
        told = f"the operator {concerned[0].full_name} was given no Prometheus"
    else:
        told = "no operator was found that could name one"
    raise MetricsUnavailable(f"{told}; name one with --prometheus")


def _read(data: Any) -> list[Labelled]:
    try:
        return [one for one in map(_series, data["result"]) if one.samples]
    except (KeyError, TypeError, ValueError) as error:
        raise MetricsUnavailable("Prometheus answered something else than series") from error


def _series(one: Mapping[str, Any]) -> Labelled:
    pairs = one["values"] if "values" in one else [one["value"]]
    samples = ((float(moment), float(value)) for moment, value in pairs)
    return Labelled(
        labels=one["metric"],
        samples=tuple(
            (datetime.fromtimestamp(moment, UTC), value)
            for moment, value in samples
            if math.isfinite(value)
        ),
    )
