"""A Prometheus in the cluster with the chart's rules, asked through the API server's proxy."""

import json
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from urllib3.exceptions import HTTPError

from e2e.images.manifests import manifest, rules
from e2e.support.api import Cluster, Json, wait_for


@dataclass(frozen=True, slots=True)
class Prometheus:
    """The Prometheus of a namespace."""

    cluster: Cluster
    namespace: str

    @property
    def url(self) -> str:
        """Where the operator finds it."""
        return f"http://prometheus.{self.namespace}.svc:9090"

    def set_up(self) -> None:
        """Start it, and wait until it answers."""
        self.cluster.apply(rules(), self.namespace)
        self.cluster.apply(manifest("prometheus", self.namespace), self.namespace)
        self._wait_until_it_answers()

    def remove(self) -> None:
        """Remove what is not in the namespace."""
        words = ("delete", "--ignore-not-found", "-n", self.namespace, "-f", "-")
        self.cluster.kubectl(*words, text=manifest("prometheus", self.namespace), check=False)

    def query(self, promql: str) -> list[Json]:
        """The answer to an instant query; fails on one that Prometheus refuses."""
        told = self._ask("query", query=promql)
        assert told["status"] == "success", f"{promql}: {told.get('error')}"
        result: list[Json] = told["data"]["result"]
        return result

    def value(self, promql: str) -> float | None:
        """The value of the first series; None without one."""
        found = self.query(promql)
        return float(found[0]["value"][1]) if found else None

    def range(self, promql: str, *, start: float, end: float, step: float) -> list[Json]:
        """The series of a query at moments so many seconds apart; in seconds since 1970, with both ends."""
        told = self._ask(
            "query_range", query=promql, start=f"{start:.3f}", end=f"{end:.3f}", step=f"{step:g}"
        )
        assert told["status"] == "success", f"{promql}: {told.get('error')}"
        result: list[Json] = told["data"]["result"]
        return result

    def rules(self) -> list[Json]:
        """All loaded rules, with their health."""
        groups = self._ask("rules")["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    @contextmanager
    def down(self) -> Iterator[None]:
        """No Prometheus for a while; its data are lost with it."""
        self._scale(0)
        try:
            yield
        finally:
            self._scale(1)
            self._wait_until_it_answers()

    def _scale(self, replicas: int) -> None:
        words = ("scale", "deployment", "prometheus", "-n", self.namespace)
        self.cluster.kubectl(*words, f"--replicas={replicas}")

    def _wait_until_it_answers(self) -> None:
        def answers() -> bool:
            deployment = self.cluster.get("Deployment", self.namespace, "prometheus") or {}
            return bool((deployment.get("status") or {}).get("readyReplicas"))

        wait_for("Prometheus", answers, seconds=120)

    def _ask(self, what: str, **parameters: str) -> Json:
        service = f"/api/v1/namespaces/{self.namespace}/services/prometheus:9090/proxy"
        path = f"{service}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"
        done = self.cluster.kubectl_process("get", "--raw", path)
        try:
            told: Json = json.loads(done.stdout)
        except json.JSONDecodeError:
            # Whoever waits for an answer asks again.
            raise HTTPError(f"{what} {parameters}: {done.stdout}") from None
        return told
