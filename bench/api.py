"""The API server as a benchmark uses it: many objects at once, counts, deletion, and a watch with our own clock."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

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


DELETIONS = 20
"""Requests after which something that cannot be deleted is given up."""


class Api:
    """A client of the local cluster's API server. Use it as an async context manager."""

    def __init__(self, kubeconfig: str) -> None:
        credentials = find_credentials({"KUBECONFIG": kubeconfig})
        self._client = httpx.AsyncClient(
            base_url=credentials.server,
            verify=credentials.tls(),
            timeout=60,
            limits=httpx.Limits(max_connections=_AT_ONCE + 8),
        )
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def create(self, path: str, body: Mapping[str, Any]) -> Json:
        """Create an object."""
        async with self._turns:
            return _checked(await self._client.post(path, json=body))

    async def create_all(self, path: str, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Create objects, as many at a time as there are connections."""
        async with asyncio.TaskGroup() as group:
            for body in bodies:
                group.create_task(self.create(path, body))

    async def merge(self, path: str, part: Mapping[str, Any]) -> Json:
        """Change a part of an object; the object as it is then."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return _checked(await self._client.patch(path, json=part, headers=headers))

    async def list(self, path: str, **query: str) -> list[Json]:
        """All objects of a collection, whole."""
        items: list[Json] = _checked(await self._client.get(path, params=query))["items"]
        return items

    async def count(self, path: str) -> int:
        """How many objects a collection has."""
        return len(_checked(await self._client.get(path, headers=_NAMES_ONLY))["items"] or [])

    async def delete(self, path: str, **query: str) -> None:
        """Delete an object or a collection; nothing happens if it is gone.

        A collection of thousands takes longer than the server gives to one request, and so several of them.
        """
        for attempt in range(DELETIONS):
            is_last = attempt + 1 == DELETIONS
            try:
                answer = await self._client.request("DELETE", path, params=query)
            except httpx.TransportError:
                if is_last:
                    raise
            else:
                if is_last or answer.status_code != httpx.codes.GATEWAY_TIMEOUT:
                    break
        if answer.status_code != httpx.codes.NOT_FOUND:
            _checked(answer)

    async def text(self, path: str) -> str:
        """What the server answers, if it is not JSON."""
        return (await self._client.get(path)).raise_for_status().text

    async def version(self) -> str:
        """The version of Kubernetes."""
        told: str = _checked(await self._client.get("/version"))["gitVersion"]
        return told

    async def watch(self, path: str) -> AsyncIterator[Json]:
        """All objects that there are, as ADDED, and then every change."""
        query = {"watch": "true", "timeoutSeconds": "3600"}
        async with self._client.stream("GET", path, params=query, timeout=None) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                yield json.loads(line)


def _checked(answer: httpx.Response) -> Json:
    if answer.is_error:
        request = f"{answer.request.method} {answer.request.url.path}"
        raise BenchmarkFailed(f"{request}: {answer.status_code}: {answer.text[:500]}")
    told: Json = answer.json()
    return told


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
