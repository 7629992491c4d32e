"""The program that enforces NetworkPolicies on one node: it runs in the node's machine, beside kube-proxy.

It reads with the standard library alone, and writes one table of the packet filter. The table stays when
the program ends: what was forbidden remains so until it runs again, or the machine ends.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from e2e.cluster.policies.allowing import View
from e2e.cluster.policies.following import Collection, Server, follow
from e2e.cluster.policies.objects import read_labels, read_pod, read_policy
from e2e.cluster.policies.rules import render

# A burst of changes is put in force this often.
INTERVAL_SECONDS = 0.1
RETRY_SECONDS = 1.0


class Cluster:
    """What the API server tells of the cluster, kept up to date by threads."""

    def __init__(self) -> None:
        self.changed = threading.Event()
        self.pods = Collection(path="/api/v1/pods", read=read_pod, changed=self.changed)
        self.namespaces = Collection(
            path="/api/v1/namespaces", read=read_labels, changed=self.changed
        )
        self.policies = Collection(
            path="/apis/networking.k8s.io/v1/networkpolicies",
            read=read_policy,
            changed=self.changed,
        )

    def follow(self, server: Server) -> None:
        """Begin to keep up with the API server."""
        for collection in (self.pods, self.namespaces, self.policies):
            threading.Thread(target=follow, args=(server.ask, collection), daemon=True).start()

    def view(self) -> View | None:
        """Return all that there is; None as long as a part of it has never been heard of."""
        if not (self.pods.is_listed and self.namespaces.is_listed and self.policies.is_listed):
            return None
        return View(
            pods=tuple(self.pods.items().values()),
            namespaces=self.namespaces.items(),
            policies=tuple(policy for _, policy in sorted(self.policies.items().items())),
        )


def enforce(cluster: Cluster, node: str, told: Callable[[str], None]) -> None:
    """Put in force what the cluster says, now and after each change; ends never."""
    in_force = None
    while True:
        cluster.changed.wait()
        cluster.changed.clear()
        view = cluster.view()
        wanted = view and render(view, node)
        if wanted and wanted != in_force:
            if apply(wanted):
                in_force = wanted
                told(wanted)
            else:
                time.sleep(RETRY_SECONDS)
                cluster.changed.set()
        time.sleep(INTERVAL_SECONDS)


def apply(rules: str) -> bool:
    """Have nft take all rules at once; tell whether it did. What it refuses changes nothing."""
    done = subprocess.run(["nft", "-f", "-"], input=rules, text=True, capture_output=True)
    if done.returncode != 0:
        print(f"nft refused {rules}: {done.stderr}", file=sys.stderr, flush=True)
    return done.returncode == 0


def main(words: list[str]) -> None:
    """Enforce the policies of one node until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node", required=True, help="whose pods to restrict")
    parser.add_argument("--server", required=True, help="ADDRESS:PORT of the API server")
    for file in ("authority", "certificate", "key"):
        parser.add_argument(f"--{file}", required=True, help="a file in PEM format")
    parser.add_argument("--ready", type=Path, required=True, help="made when rules are in force")
    arguments = parser.parse_args(words)
    address, _, port = arguments.server.rpartition(":")
    threading.excepthook = _end
    cluster = Cluster()
    cluster.follow(
        Server(
            address=address,
            port=int(port),
            authority=arguments.authority,
            certificate=arguments.certificate,
            key=arguments.key,
        )
    )
    enforce(cluster, arguments.node, lambda rules: _tell(rules, arguments.ready))


def _end(error: threading.ExceptHookArgs) -> None:
    """End the program with a thread that met a bug: half a view would be taken for the whole."""
    threading.__excepthook__(error)
    os._exit(1)


def _tell(rules: str, ready: Path) -> None:
    print(f"{rules.count('counter drop')} restrictions of pods in force", flush=True)
    ready.touch()


if __name__ == "__main__":
    main(sys.argv[1:])
