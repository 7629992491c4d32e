"""What the demo calls its things; all of them go with `make demo-down`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

NAMESPACE = "sluice-demo"
OPERATOR_NAMESPACE = "sluice-demo-system"
COPY_NAMESPACES = ("sluice-demo-copy-1", "sluice-demo-copy-2")
"""Where copies of the job are measured. An operator that looks after some namespaces only makes none itself."""
# Not "sluice": the release names ClusterRoles, which another installation on a shared cluster may have.
RELEASE = "sluice-demo"

JOB = "enrichment"
DRIVER = f"{JOB}-driver"
PROFILE = f"{JOB}-1"
LOAD = "load"
SAMPLE = ROOT / "samples" / "enrichment.yaml"
MANIFESTS = ROOT / "demo" / "manifests"
