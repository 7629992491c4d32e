"""Finds the pods to scrape for a Prometheus that cannot ask Kubernetes itself: Debian builds it without that.

Runs beside Prometheus in its pod, standard library only: every two seconds it lists the pods of the cluster and
writes those with the annotation prometheus.io/scrape: "true" as targets of file_sd_configs. The annotations
prometheus.io/port, /path and /scheme say where; the pod's labels under sluice.dev/ and spark-role become labels.
"""

import json
import os
import re
import ssl
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
INTERVAL_SECONDS = 2.0
_KEPT_LABELS = re.compile(r"sluice\.dev/.+|spark-role")


def targets(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn pods into groups of targets; pods that have ended or have no address yet are left out."""
    return [_group(pod) for pod in pods if _is_wanted(pod)]


def _is_wanted(pod: dict[str, Any]) -> bool:
    annotations = pod["metadata"].get("annotations", {})
    status = pod.get("status", {})
    has_ended = status.get("phase") in {"Succeeded", "Failed"}
    return annotations.get("prometheus.io/scrape") == "true" and "podIP" in status and not has_ended


def _group(pod: dict[str, Any]) -> dict[str, Any]:
    metadata = pod["metadata"]
    annotations = metadata["annotations"]
    labels = {
        re.sub(r"\W", "_", k): v
        for k, v in metadata.get("labels", {}).items()
        if _KEPT_LABELS.fullmatch(k)
    }
    return {
        "targets": [f"{pod['status']['podIP']}:{annotations.get('prometheus.io/port', '80')}"],
        "labels": {
            **labels,
            "namespace": metadata["namespace"],
            "pod": metadata["name"],
            "__metrics_path__": annotations.get("prometheus.io/path", "/metrics"),
            "__scheme__": annotations.get("prometheus.io/scheme", "http"),
        },
    }


def list_pods() -> list[dict[str, Any]]:
    """Ask the API server with the pod's own service account; the token is read anew because it is renewed."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    request = urllib.request.Request(
        f"https://{host}:{port}/api/v1/pods?resourceVersion=0",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}"},
    )
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:
        items: list[dict[str, Any]] = json.load(answer)["items"]
    return items


def write(path: Path, groups: list[dict[str, Any]]) -> None:
    """Replace the file in one step, and only if it changes: Prometheus reads it whenever it does."""
    text = json.dumps(groups, indent=1, sort_keys=True)
    if path.exists() and path.read_text() == text:
        return
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)
    print(f"{len(groups)} pods to scrape", flush=True)


def main() -> None:
    """Go on for ever; while the API server is away the last targets stay."""
    path = Path(sys.argv[1])
    while True:
        try:
            write(path, targets(list_pods()))
        except OSError as error:
            print(f"cannot list the pods, keeping the last targets: {error}", flush=True)
        time.sleep(INTERVAL_SECONDS)


if __name__ == "__main__":
    main()
