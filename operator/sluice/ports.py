"""What the services need of the world outside, as narrow protocols. Adapters fulfil them; tests do, too."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from sluice.core.forecasting.forecast import Forecast
from sluice.core.observations import AgentReport
from sluice.core.series import NoData

if TYPE_CHECKING:
    from sluice.core.learning.foreseeing import Forecaster, History

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of Kubernetes object: where the API serves it."""

    api_version: str
    plural: str

    @property
    def root(self) -> str:
        """The path below which its objects are served."""
        return (
            f"/api/{self.api_version}"
            if "/" not in self.api_version
            else f"/apis/{self.api_version}"
        )


PODS = Resource("v1", "pods")
SERVICE_ACCOUNTS = Resource("v1", "serviceaccounts")
CONFIG_MAPS = Resource("v1", "configmaps")
SECRETS = Resource("v1", "secrets")
EVENTS = Resource("v1", "events")
ROLES = Resource("rbac.authorization.k8s.io/v1", "roles")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io/v1", "rolebindings")
NODES = Resource("v1", "nodes")
DISRUPTION_BUDGETS = Resource("policy/v1", "poddisruptionbudgets")
LEASES = Resource("coordination.k8s.io/v1", "leases")
NAMESPACES = Resource("v1", "namespaces")
RESOURCE_QUOTAS = Resource("v1", "resourcequotas")
LIMIT_RANGES = Resource("v1", "limitranges")
CLAIMS = Resource("v1", "persistentvolumeclaims")
NETWORK_POLICIES = Resource("networking.k8s.io/v1", "networkpolicies")
STREAM_JOBS = Resource("sluice.dev/v1alpha1", "streamjobs")
STREAM_PROFILES = Resource("sluice.dev/v1alpha1", "streamprofiles")


class Cluster(Protocol):
    """The Kubernetes API. All methods raise ClusterUnavailable when it does not answer in time.

    What is in no namespace, as a Namespace itself, has "" for one, or none in its metadata.
    """

    async def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """Read an object live. Raises NotFound."""

    def each(
        self,
        resource: Resource,
        namespace: str | None,
        *,
        selector: str = "",
        fields: str = "",
        metadata_only: bool = False,
    ) -> AsyncIterator[Json]:
        """Read all objects of a namespace, or of the cluster, one after the other: thousands of them together take
        more memory than the operator has. `selector` is for labels, `fields` for what the API server selects by.
        """

    async def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Create an object. Raises Conflict if one of that name exists, InvalidSpec if it is refused."""

    async def rehearse(self, resource: Resource, body: Mapping[str, Any]) -> None:
        """Find out whether an object would be created, and create none. Raises what creating it would raise."""

    async def replace(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Replace an object of the same resourceVersion. Raises Conflict, NotFound."""

    async def apply(
        self, resource: Resource, body: Mapping[str, Any], *, subresource: str = ""
    ) -> Json:
        """Apply an object or its subresource on the server's side. Raises NotFound, InvalidSpec."""

    async def amend(
        self, resource: Resource, body: Mapping[str, Any], *, tests: Mapping[str, object]
    ) -> bool:
        """Replace the parts of an object that a body has, but its metadata, if the object passes the tests: the values
        that it must have, by JSON pointers. Whether it has; this takes no right to read it.

        Raises NotFound, InvalidSpec.
        """

    async def resize(self, body: Mapping[str, Any]) -> Json:
        """Change the resources of the containers of a running pod that a body names.

        Raises NotFound if the pod is gone; InvalidSpec, NotAllowed if this cluster, or its rules, do not resize it.
        """

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, by_force: bool = False
    ) -> None:
        """Delete the object of that uid; nothing happens if it is gone or another has its name.

        `by_force` does not wait for the kubelet.
        """


class Agents(Protocol):
    """The agents in the drivers. All methods raise AgentUnavailable."""

    async def report(self, address: str, token: str) -> AgentReport:
        """What the agent at a pod's address tells now."""

    async def set_executors(self, address: str, token: str, target: int) -> None:
        """Ask for a number of executors."""

    async def decommission(self, address: str, token: str, executors: Sequence[str]) -> None:
        """Ask for other executors in place of these, which are named by their ids."""

    async def set_limits(
        self,
        address: str,
        token: str,
        query: str,
        *,
        most_rows: float | None,
        trigger_seconds: float | None,
    ) -> None:
        """Ask for another limit of rows and another trigger of a query; None is what its program has set."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A series as a metrics' server tells it: its labels, and finite values in the order of time."""

    labels: Mapping[str, str]
    samples: tuple[tuple[datetime, float], ...]


class Metrics(Protocol):
    """A server of metrics that speaks PromQL. All methods raise MetricsUnavailable."""

    async def now(self, query: str) -> list[Labelled]:
        """The value of each series at the server's own present moment; its time is the server's."""

    async def history(
        self, query: str, start: datetime, end: datetime, step: timedelta
    ) -> list[Labelled]:
        """The values of each series from start to end."""


class Forecasts(Protocol):
    """Where loads are forecast: costly, and with large libraries, so it may be another process."""

    async def foresee(
        self, forecaster: "Forecaster", history: "History", at: float
    ) -> tuple["Forecaster", Forecast | NoData]:
        """What is forecast at a moment, and the forecaster with what it has learned by that."""


class Clock(Protocol):
    """The time, as an aware UTC datetime."""

    def now(self) -> datetime:
        """The present moment."""
