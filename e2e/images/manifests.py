"""The manifests of Kafka and Prometheus for tests and demos, filled in for a namespace."""

from e2e.images.recipes import ROOT


def manifest(name: str, namespace: str) -> str:
    """Give the YAML of `kafka` or `prometheus`, to be applied with that namespace as the default."""
    path = ROOT / "e2e" / "images" / name / f"{name}.yaml"
    return path.read_text().replace("@NAMESPACE@", namespace)
