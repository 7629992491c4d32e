"""Sockets that listen on all addresses of a pod, whichever families those are of."""

import socket


def listening(port: int) -> socket.socket:
    """A socket that listens on a port of all addresses, also those of IPv6 where the kernel has it."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))
