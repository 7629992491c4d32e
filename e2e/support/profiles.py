"""StreamProfiles for tests, and what may not be left of their copies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from e2e.support.api import Cluster, Json, to_yaml, wait_for

OWNED = ("StreamJob", "Pod", "PersistentVolumeClaim", "Secret", "ServiceAccount")
"""Kinds of which nothing of a copy may be left."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A StreamProfile in the cluster, with copies in namespaces that are there."""

    cluster: Cluster
    namespace: str
    name: str
    places: tuple[str, ...]

    def start(self, job: str, *, executors: Sequence[int], **spec: Any) -> None:
        """Profile a job."""
        body = {
            "apiVersion": "sluice.dev/v1alpha1",
            "kind": "StreamProfile",
            "metadata": {"name": self.name},
            "spec": {
                "job": job,
                "executors": [*executors],
                "namespaces": [*self.places],
                **spec,
            },
        }
        self.cluster.apply(to_yaml(body), self.namespace)

    def wait(self, what: str, look: Callable[[Json], object], *, seconds: float = 180) -> Json:
        """Its status as soon as `look` finds what it looks for in it."""

        def seen() -> Json | None:
            found = self.cluster.get("StreamProfile", self.namespace, self.name) or {}
            status: Json = found.get("status") or {}
            return status if status and look(status) else None

        return wait_for(f"{what} of profile {self.name}", seen, seconds=seconds)

    def wait_until_measuring(self) -> None:
        """All copies measure, or have, and one does still."""
        self.wait("copies at work", lambda status: _measures(_phases(status)), seconds=400)

    def wait_until_ended(self, *, seconds: float = 600) -> Json:
        """Its last status: it succeeded, and nothing of a copy is left."""
        status = self.wait("the end", lambda status: "endedAt" in status, seconds=seconds)
        assert status["phase"] == "Succeeded", status
        wait_for("no copy", lambda: not self._left(), seconds=120)
        return status

    def delete(self) -> None:
        """Delete it, and with it whatever is there of copies."""
        self.cluster.delete("StreamProfile", self.namespace, self.name)

    def _left(self) -> list[str]:
        return [
            f"{place}/{kind}/{item['metadata']['name']}"
            for place in self.places
            for kind in OWNED
            for item in self.cluster.list(kind, place)
            if item["metadata"]["name"] != "default"
        ]


def _measures(phases: set[str]) -> bool:
    return "Measuring" in phases and phases <= {"Measuring", "Measured"}


def _phases(status: Json) -> set[str]:
    return {copy["phase"] for copy in status.get("copies", [])}
