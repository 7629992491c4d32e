"""An API server with one Lease, for drivers that run as child processes."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOKEN = "the driver's account"
PATH = "/apis/coordination.k8s.io/v1/namespaces/shop/leases/checkpoint-1"


class LeaseServer:
    """Stores the Lease; `down` refuses everything."""

    def __init__(self, account: Path, seconds: int) -> None:
        self.account = account
        self.seconds = seconds
        self.down = False
        self.writes = 0
        self._lock = threading.Lock()
        self._lease: dict[str, Any] = {
            "metadata": {"name": "checkpoint-1", "resourceVersion": "1"},
            "spec": {"leaseDurationSeconds": seconds},
        }
        account.mkdir()
        (account / "token").write_text(TOKEN)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def holder(self) -> str:
        """Who holds the Lease, "" if nobody does."""
        with self._lock:
            return str(self._lease["spec"].get("holderIdentity", ""))

    @property
    def duration(self) -> int:
        """For how many seconds without a renewal it is its holder's."""
        with self._lock:
            return int(self._lease["spec"]["leaseDurationSeconds"])

    def edit(self, **spec: Any) -> None:
        """Write the Lease as somebody else does."""
        with self._lock:
            self._store({**self._lease["spec"], **spec})

    def environment(self, incarnation: int) -> dict[str, str]:
        """What a driver must know to use this server."""
        return {
            "SLUICE_API_SERVER": f"http://127.0.0.1:{self._server.server_port}",
            "SLUICE_SERVICE_ACCOUNT": str(self.account),
            "SLUICE_LEASE": "checkpoint-1",
            "SLUICE_LEASE_SECONDS": str(self.seconds),
            "SLUICE_JOB_NAMESPACE": "shop",
            "SLUICE_JOB_UID": "uid-7",
            "SLUICE_INCARNATION": str(incarnation),
        }

    def close(self) -> None:
        """Stop answering for good."""
        self._server.shutdown()
        self._server.server_close()

    def _store(self, spec: dict[str, Any]) -> None:
        version = int(self._lease["metadata"]["resourceVersion"]) + 1
        metadata = {**self._lease["metadata"], "resourceVersion": str(version)}
        self._lease = {"metadata": metadata, "spec": spec}

    def _answer(self, method: str, path: str, token: str, body: Any) -> tuple[int, Any]:
        with self._lock:
            if self.down or path != PATH or token != f"Bearer {TOKEN}":
                return 503, {"message": "not now"}
            if method == "PUT":
                ours = self._lease["metadata"]["resourceVersion"]
                if body["metadata"]["resourceVersion"] != ours:
                    return 409, {"message": "modified"}
                self._store(body["spec"])
                self.writes += 1
            return 200, self._lease

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size)) if size else None
                token = self.headers.get("Authorization", "")
                status, document = server._answer(self.command, self.path, token, body)
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_PUT = _serve  # noqa: N815  # so the base class wants them

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@contextmanager
def lease_server(folder: Path, *, seconds: int) -> Iterator[LeaseServer]:
    """A server whose Lease lasts so many seconds without a renewal."""
    server = LeaseServer(folder / "account", seconds)
    try:
        yield server
    finally:
        server.close()
