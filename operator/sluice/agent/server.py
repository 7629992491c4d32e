"""The agent's HTTP server: sockets and limits around `verbs`."""

from __future__ import annotations

import http.server
import socket
import socketserver
import threading
from collections.abc import Callable

from sluice.agent import VERSION, logs
from sluice.agent.verbs import LONGEST_BODY, Request, Response

_SECONDS_PER_REQUEST = 10

Answer = Callable[[Request], Response]


def start(port: int, answer: Answer) -> int | None:
    """Serve in daemon threads; return the port, or None if it cannot be had, which is logged."""
    try:
        server = _Server(port, _handler(answer))
    except OSError as error:
        logs.write("error", f"Port {port} cannot be served; the program runs on", error=str(error))
        return None
    threading.Thread(target=server.serve_forever, name="sluice-agent-http", daemon=True).start()
    return int(server.server_address[1])


class _Server(http.server.ThreadingHTTPServer):
    """Listens on all addresses, also those of IPv6 where the kernel has it: a pod may have no other."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        if socket.has_dualstack_ipv6():
            self.address_family = socket.AF_INET6
        super().__init__(("", port), handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # That of http.server would ask the DNS for our name, which nobody needs.
        socketserver.TCPServer.server_bind(self)


def _handler(answer: Answer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        server_version = f"sluice-agent/{VERSION}"
        sys_version = ""
        timeout = _SECONDS_PER_REQUEST

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing per request: standard error is the program's."""

        def _serve(self) -> None:
            length = self.headers.get("Content-Length") or "0"
            if not length.isdecimal() or int(length) > LONGEST_BODY:
                self.close_connection = True
                message = f"Content-Length must be 0 to {LONGEST_BODY}, but is {length!r}"
                self._send(Response(413, "text/plain", message.encode()))
                return
            self._send(self._answered(self.rfile.read(int(length))))

        def _answered(self, body: bytes) -> Response:
            authorization = self.headers.get("Authorization") or ""
            try:
                return answer(Request(self.command, self.path, authorization, body))
            except Exception as error:  # noqa: BLE001  # Spark may fail in any way; the caller is told
                logs.write("error", f"{self.command} {self.path} failed", error=repr(error)[:500])
                return Response(500, "text/plain", b"the agent failed; its log says why\n")

        def _send(self, response: Response) -> None:
            self.send_response(response.status)
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815  # the names of http.server

    return Handler
