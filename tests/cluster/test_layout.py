"""Rules of names, addresses and paths."""

from ipaddress import IPv4Network, ip_address
from pathlib import Path

from e2e.cluster import layout

RESERVED_FOR_TESTS = IPv4Network("198.18.0.0/15")
LONGEST_LINK_NAME = 15


def test_no_address_is_outside_the_range_reserved_for_tests() -> None:
    networks = [layout.POD_NETWORK, layout.SERVICE_NETWORK, *[node.pods for node in layout.NODES]]
    addresses = [layout.HOST_ADDRESS, layout.DNS_ADDRESS, layout.API_SERVICE_ADDRESS]
    addresses += [machine.address for machine in layout.MACHINES]

    assert all(IPv4Network(str(each)).subnet_of(RESERVED_FOR_TESTS) for each in networks)
    assert all(ip_address(each) in RESERVED_FOR_TESTS for each in addresses)


def test_networks_of_pods_services_and_machines_do_not_overlap() -> None:
    machines = IPv4Network(f"{layout.HOST_ADDRESS}/{layout.MACHINE_PREFIX_LENGTH}", strict=False)
    networks = [IPv4Network(layout.POD_NETWORK), IPv4Network(layout.SERVICE_NETWORK), machines]

    for one in networks:
        assert not any(one.overlaps(other) for other in networks if other != one)


def test_pods_of_each_node_have_their_own_part_of_the_pod_network() -> None:
    parts = [IPv4Network(str(node.pods)) for node in layout.NODES]

    assert len(set(parts)) == layout.MAX_NODES
    assert all(part.subnet_of(IPv4Network(layout.POD_NETWORK)) for part in parts)


def test_the_kernel_accepts_every_link_name() -> None:
    names = [layout.BRIDGE, *[machine.link for machine in layout.MACHINES]]

    assert len(set(names)) == len(names)
    assert all(len(name) <= LONGEST_LINK_NAME for name in names)


def test_root_shares_one_cluster_among_all_checkouts() -> None:
    paths = layout.paths_from({"HOME": "/root"}, is_root=True)

    assert paths == layout.Paths(
        state=Path("/var/lib/sluice/cluster"), cache=Path("/var/cache/sluice")
    )


def test_the_environment_moves_state_and_cache() -> None:
    environment = {"SLUICE_CLUSTER_STATE": "/mnt/state", "SLUICE_CACHE": "/mnt/cache"}

    paths = layout.paths_from(environment, is_root=True)

    assert (paths.state, paths.cache) == (Path("/mnt/state"), Path("/mnt/cache"))


def test_a_user_without_root_gets_directories_that_can_be_written() -> None:
    paths = layout.paths_from({"HOME": "/home/ada"}, is_root=False)

    assert paths.state.is_relative_to("/home/ada")
    assert paths.cache.is_relative_to("/home/ada")


def test_the_lock_outlives_the_state_that_down_removes() -> None:
    paths = layout.paths_from({}, is_root=True)

    assert not paths.lock.is_relative_to(paths.state)
