"""The versions of what works together: this command, the operators, the cluster."""

from dataclasses import dataclass

from sluice import __version__
from sluice.console.cluster import Cluster
from sluice.console.installation import Installation, installations
from sluice.console.page import Line, Page, Section
from sluice.console.trouble import NotAllowed
from sluice.ports import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """What runs where; `lack` says why no operator could be looked for."""

    kubernetes: str
    operators: tuple[Installation, ...]
    lack: str = ""


def versions(cluster: Cluster) -> Versions:
    """Ask the cluster."""
    kubernetes = cluster.get("/version")["gitVersion"]
    try:
        return Versions(kubernetes=kubernetes, operators=installations(cluster))
    except NotAllowed as error:
        return Versions(kubernetes=kubernetes, operators=(), lack=str(error.args[0]))


def page(found: Versions) -> Page:
    """For people."""
    lines = [
        Line(cells=("Command",), detail=__version__),
        *(
            Line(cells=("Operator",), detail=f"{one.version} ({one.full_name}, {one.image})")
            for one in found.operators
        ),
        Line(cells=("Kubernetes",), detail=found.kubernetes),
    ]
    if not found.operators:
        lines.insert(1, Line(cells=("Operator",), detail=found.lack or "none in this cluster"))
    return Page(title="sluice", sections=(Section("", tuple(lines)),))


def data(found: Versions) -> Json:
    """For scripts."""
    operators = [
        {"namespace": one.namespace, "name": one.name, "version": one.version, "image": one.image}
        for one in found.operators
    ]
    return {"command": __version__, "operators": operators, "kubernetes": found.kubernetes}
