"""Read and change a cluster as a person's kubeconfig says: the official client signs in, paths and JSON are ours.

Objects are plain data, as the views take them; the client's models would refuse what a newer API server adds.
"""

import json
import os
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self

import urllib3
import yaml
from kubernetes import client, config
from kubernetes.config.kube_config import KubeConfigMerger

from sluice.adapters.clock import SystemClock
from sluice.adapters.credentials import ACCOUNT
from sluice.console.clocks import Reading
from sluice.console.trouble import NotAllowed, NotNow, NotThere, Unreachable
from sluice.ports import Json, Resource

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0

_PAGE = "500"

_JSON = "application/json"
_CONTENTS = {"PATCH": "application/merge-patch+json"}

# The client lets through whatever a strange file makes of its parser.
_NO_KUBECONFIG = (
    config.ConfigException,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    yaml.YAMLError,
)


class Cluster:
    """One API server, and the namespace that the context names. Use it as a context manager."""

    def __init__(self, api: client.ApiClient, namespace: str) -> None:
        self._api = api
        self.namespace = namespace
        self.clock: Reading | None = None
        """What the server's clock showed at the last answer."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.close()

    @property
    def server(self) -> str:
        """Its address."""
        return str(self._api.configuration.host)

    def list(self, resource: Resource, namespace: str | None, **query: str) -> list[Json]:
        """All objects of a namespace, or of the cluster, page by page."""
        items: list[Json] = []
        asked = {"limit": _PAGE, **query}
        while True:
            page = self.get(path_of(resource, namespace), **asked)
            items += page["items"]
            rest = page["metadata"].get("continue")
            if not rest:
                return items
            asked["continue"] = rest

    def get(self, path: str, **query: str) -> Json:
        """The JSON at a path."""
        return self._json("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any]) -> Json:
        """What the server says to a body, such as a review of somebody's rights."""
        return self._json("POST", path, {}, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Json:
        """Change what a body names, and nothing else (a merge patch); None takes a field away."""
        return self._json("PATCH", path, {}, body)

    def kill(self, path: str, uid: str) -> None:
        """Take the pod of that uid out of the API at once, so that it is killed and not asked to stop.

        Raises NotNow if another one has its name by now.
        """
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid},
        }
        self._json("DELETE", path, {}, body)

    def lines(self, path: str, **query: str) -> Iterator[bytes]:
        """Text as it comes, in pieces, for as long as the server sends it."""
        # Only the connection has a deadline: a program may be silent for hours.
        answer = self._open("GET", path, query, None, timeout=(CONNECT_SECONDS, None))
        try:
            yield from answer.stream()
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"{self.server}: the connection broke: {error}") from error
        finally:
            answer.close()

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
    ) -> Json:
        timeout = (CONNECT_SECONDS, ANSWER_SECONDS)
        try:
            answered = json.loads(self._open(method, path, query, body, timeout=timeout).data)
        except ValueError as error:
            raise Unreachable(f"{self.server}{path}: answered something else than JSON") from error
        except urllib3.exceptions.HTTPError as error:
            raise self._silent(error) from error
        if not isinstance(answered, dict):
            raise Unreachable(f"{self.server}{path}: answered something else than an object")
        return answered

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        *,
        timeout: tuple[float, float | None],
    ) -> urllib3.BaseHTTPResponse:
        request = self._api.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params={"Accept": "*/*", "Content-Type": _CONTENTS.get(method, _JSON)},
            body=body,
            auth_settings=["BearerToken"],
        )
        before = SystemClock().now()
        try:
            answer = self._api.call_api(*request, _request_timeout=timeout).response
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._silent(error) from error
        if "Date" in answer.headers:
            shown = parsedate_to_datetime(answer.headers["Date"])
            self.clock = Reading(shown=shown, before=before, after=SystemClock().now())
        if answer.status >= 400:
            raise _refusal(method, answer)
        result: urllib3.BaseHTTPResponse = answer
        return result

    def _silent(self, error: Exception) -> Unreachable:
        cause = getattr(error, "reason", None) or error
        told = f"no answer from the API server at {self.server}: {in_short(cause)}"
        return Unreachable(told, "Is it up, and is the context right? Try: kubectl cluster-info")


def connect(*, kubeconfig: str | None, context: str | None) -> Cluster:
    """A client for a context of a kubeconfig: by default KUBECONFIG's, else the user's own, and its current one.

    Where none is named and none is there, as in a pod, it is the pod's account.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG")
    place = named or config.KUBE_CONFIG_DEFAULT_LOCATION
    configuration = client.Configuration()
    configuration.retries = urllib3.Retry(0)
    try:
        if not (named or context or Path(place).expanduser().exists()) and ACCOUNT.exists():
            config.load_incluster_config(configuration)
            return Cluster(
                client.ApiClient(configuration), (ACCOUNT / "namespace").read_text().strip()
            )
        files = KubeConfigMerger(place)
        chosen = context or _current_context(files)
        config.load_kube_config(place, chosen, configuration, persist_config=False)
        declared = files.config["contexts"].get_with_name(chosen)["context"]
    except _NO_KUBECONFIG as error:
        remedy = "Name one with --kubeconfig or KUBECONFIG; `kubectl config get-contexts` lists its contexts"
        raise Unreachable(f"no cluster to ask: {in_short(error)}", remedy) from error
    return Cluster(client.ApiClient(configuration), declared.safe_get("namespace") or "default")


def _current_context(files: KubeConfigMerger) -> str | None:
    """That of the first file that names one, as for kubectl; the client would take the last."""
    named = (file.get("current-context") for file in files.config_files.values())
    return next(filter(None, named), None)


def path_of(resource: Resource, namespace: str | None, *rest: str) -> str:
    """Where objects of a kind are; `rest` is the name of one, and what is below it."""
    scope = ("namespaces", namespace) if namespace is not None else ()
    return "/".join((resource.root, *scope, resource.plural, *rest))


def _refusal(method: str, answer: urllib3.BaseHTTPResponse) -> Exception:
    told = _message(answer)
    match answer.status:
        case 401:
            remedy = "Sign in again; `kubectl auth whoami` tells whether it worked"
            return NotAllowed(f"the API server does not know you: {told}", remedy)
        case 403:
            role = _ROLES.get(method, "`edit` is enough to change jobs")
            return NotAllowed(told, f"Ask the cluster's administrator; the role {role}")
        case 404:
            return NotThere(told)
        case 400 | 409 | 422:
            return NotNow(told)
        case _:
            return Unreachable(f"the API server answered {answer.status}: {told}")


_ROLES = {
    "GET": "`view` is enough to look",
    "DELETE": "`edit` is enough to change jobs and to delete their pods",
}


def _message(answer: urllib3.BaseHTTPResponse) -> str:
    text = answer.data.decode(errors="replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return in_short(text) or f"status {answer.status}"


def in_short(error: object) -> str:
    """One line: errors of HTTP libraries carry whole pages."""
    return " ".join(str(error).split())[:300]
