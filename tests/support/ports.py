"""Ports of the loopback for what a test starts."""

import random
import socket
from contextlib import suppress


def free_port() -> int:
    """A port that nothing uses, and that no client is given meanwhile: Linux takes those from 32768 on."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port
