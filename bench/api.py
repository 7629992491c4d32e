"""The API server as a benchmark uses it: many objects at once, counts, deletion, and a watch with our own clock."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from bench.progress import BenchmarkFailed
from sluice.adapters.credentials import find_credentials

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent
JOBS = "/apis/sluice.dev/v1alpha1/namespaces/{}/streamjobs"
PODS = "/api/v1/namespaces/{}/pods"
CONFIG_MAPS = "/api/v1/namespaces/{}/configmaps"
NODES = "/api/v1/nodes"
NAMESPACES = "/api/v1/namespaces"

_NAMES_ONLY = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_AT_ONCE = 48
_LONGEST_LINE = 2**20

DELETIONS = 20
"""Requests after which something that cannot be deleted is given up."""


class Api:
    """A client of the local cluster's API server. Use it as an async context manager."""

    def __init__(self, kubeconfig: str) -> None:
        self._credentials = find_credentials({"KUBECONFIG": kubeconfig})
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def __aenter__(self) -> Self:
        self._session = ClientSession(
            base_url=self._credentials.server,
            connector=TCPConnector(limit=_AT_ONCE + 8, ssl=self._credentials.tls()),
            timeout=ClientTimeout(total=None, sock_connect=60, sock_read=60),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def create(self, path: str, body: Mapping[str, Any]) -> Json:
        """Create an object."""
        async with self._turns:
            return await self._json("POST", path, json=body)

    async def create_all(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Create objects, as many at a time as there are connections."""
        async with asyncio.TaskGroup() as group:
            for body in bodies:
                group.create_task(self.create(path, body))

    async def merge(self, path: str, part: Mapping[str, Any]) -> Json:
        """Change a part of an object; the object as it is then."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return await self._json("PATCH", path, json=part, headers=headers)

    async def list(self, path: str, **query: str) -> list[Json]:
        """All objects of a collection, whole."""
        items: list[Json] = (await self._json("GET", path, params=query))["items"]
        return items

    async def count(self, path: str) -> int:
        """How many objects a collection has."""
        return len((await self._json("GET", path, headers=_NAMES_ONLY))["items"] or [])

    async def delete(self, path: str, **query: str) -> None:
        """Delete an object or a collection; nothing happens if it is gone.

        A collection of thousands takes longer than the server gives to one request, and so several of them.
        """
        for attempt in range(DELETIONS):
            is_last = attempt + 1 == DELETIONS
            try:
                code, text = await self._ask("DELETE", path, params=query)
            except (ClientError, TimeoutError):
                if is_last:
                    raise
            else:
                if is_last or code != HTTPStatus.GATEWAY_TIMEOUT:
                    break
        if code != HTTPStatus.NOT_FOUND:
            _check("DELETE", path, code, text)

    async def text(self, path: str) -> str:
        """What the server answers, if it is not JSON."""
        return await self._text("GET", path)

    async def version(self) -> str:
        """The version of Kubernetes."""
        told: str = (await self._json("GET", "/version"))["gitVersion"]
        return told

    async def watch(self, path: str) -> AsyncIterator[Json]:
        """All objects that there are, as ADDED, and then every change."""
        query = {"watch": "true", "timeoutSeconds": "3600"}
        forever = ClientTimeout(total=None)
        async with self._session.get(
            path, params=query, timeout=forever, read_bufsize=_LONGEST_LINE
        ) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                yield json.loads(line)

    async def _json(self, method: str, path: str, **options: Any) -> Json:
        answered: Json = json.loads(await self._text(method, path, **options))
        return answered

    async def _text(self, method: str, path: str, **options: Any) -> str:
        code, text = await self._ask(method, path, **options)
        _check(method, path, code, text)
        return text

    async def _ask(self, method: str, path: str, **options: Any) -> tuple[int, str]:
        async with self._session.request(method, path, **options) as answer:
            return answer.status, await answer.text()


def _check(method: str, path: str, code: int, text: str) -> None:
    if code >= HTTPStatus.BAD_REQUEST:
        raise BenchmarkFailed(f"{method} {path}: {code}: {text[:500]}")


def cluster_command(*words: str) -> str:
    """What a command of the local cluster prints on its standard output."""
    command = [sys.executable, "-m", "e2e.cluster", *words]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
    if done.returncode:
        told = (done.stderr or done.stdout).strip()[-800:]
        raise BenchmarkFailed(f"e2e.cluster {' '.join(words[:3])}: {told}")
    return done.stdout.strip()


def find_kubeconfig() -> str:
    """The local cluster's kubeconfig; raises BenchmarkFailed if there is no cluster."""
    path = cluster_command("kubeconfig").splitlines()[-1]
    if not Path(path).exists():
        raise BenchmarkFailed("no local cluster: run `make cluster images` first")
    return path
