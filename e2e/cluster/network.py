"""The cluster's network as the host sees it: one bridge, one cable per machine, and the routes.

The host reaches machines, pods and Services directly, so tests need no port-forward.
"""

from pathlib import Path

from e2e.cluster import layout
from e2e.cluster.host import run, succeeds, wait_until
from e2e.cluster.layout import Machine

LINKS = Path("/sys/class/net")
# Worse than any route that anyone else would set.
LAST_RESORT = "unreachable {network} metric 4000"


def ensure_bridge() -> None:
    """Make the bridge and the host's routes; what is there already stays."""
    if not (LINKS / layout.BRIDGE).exists():
        run(["ip", "link", "add", layout.BRIDGE, "type", "bridge"])
    address = f"{layout.HOST_ADDRESS}/{layout.MACHINE_PREFIX_LENGTH}"
    run(["ip", "address", "replace", address, "dev", layout.BRIDGE])
    run(["ip", "link", "set", layout.BRIDGE, "up"])
    # Addresses that no machine has must not leave by the host's default route.
    replace_route(LAST_RESORT.format(network=layout.CLUSTER_NETWORK))
    for route in layout.pod_routes():
        replace_route(route)


def remove_bridge() -> None:
    """Remove the bridge, and with it every route through it."""
    for machine in layout.MACHINES:
        remove_cable(machine)
    if (LINKS / layout.BRIDGE).exists():
        run(["ip", "link", "delete", layout.BRIDGE])
    last_resort = LAST_RESORT.format(network=layout.CLUSTER_NETWORK).split()
    if run(["ip", "route", "show", "type", "unreachable", layout.CLUSTER_NETWORK]).strip():
        run(["ip", "route", "delete", *last_resort])


def replace_route(route: str) -> None:
    run(["ip", "route", "replace", *route.split()])


def plug_in(machine: Machine, namespace_of: int) -> None:
    """Lay a cable from the bridge to the network namespace of a process, where it is eth0."""
    remove_cable(machine)
    peer = ["peer", "name", "eth0", "netns", str(namespace_of)]
    run(["ip", "link", "add", machine.link, "type", "veth", *peer])
    run(["ip", "link", "set", machine.link, "master", layout.BRIDGE, "up"])


def remove_cable(machine: Machine) -> None:
    """Remove what a machine that died may have left: the kernel takes its time."""
    if succeeds(["ip", "link", "delete", machine.link]):
        gone = LINKS / machine.link
        wait_until(lambda: not gone.exists(), f"{machine.link} should go")


def set_connected(machine: Machine, *, connected: bool) -> None:
    run(["ip", "link", "set", machine.link, "up" if connected else "down"])


def is_connected(machine: Machine) -> bool:
    """Tell whether the host's end of the cable is up; what it reports is the kernel's flag IFF_UP."""
    flags = LINKS / machine.link / "flags"
    return flags.exists() and bool(int(flags.read_text(), 16) & 1)
