"""What the demo calls its things; all of them go with `make demo-down`."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

NAMESPACE = "sluice-demo"
OPERATOR_NAMESPACE = "sluice-demo-system"
# Not "sluice": the release names ClusterRoles, which another installation on a shared cluster may have.
RELEASE = "sluice-demo"

JOB = "advertisement"
DRIVER = f"{JOB}-driver"
LOAD = "load"
SAMPLE = ROOT / "samples" / "advertisement.yaml"
