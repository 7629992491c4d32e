"""The manifests of Kafka and Prometheus for tests and demos, filled in for a namespace."""

import json

from e2e.images.recipes import ROOT


def manifest(name: str, namespace: str) -> str:
    """Give the YAML of `kafka` or `prometheus`, to be applied with that namespace as the default."""
    path = ROOT / "e2e" / "images" / name / f"{name}.yaml"
    return path.read_text().replace("@NAMESPACE@", namespace)


def rules() -> str:
    """Give the ConfigMap with the chart's rules, which that Prometheus loads; to be applied before it."""
    files = sorted((ROOT / "charts" / "sluice" / "rules").glob("*.yaml"))
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "prometheus-rules", "labels": {"app": "prometheus"}},
        "data": {file.name: file.read_text() for file in files},
    }
    return json.dumps(body)
