"""Which pods Prometheus scrapes, and under which labels."""

from pathlib import Path
from typing import Any

import pytest

from e2e.images.prometheus import discovery


def pod(
    annotations: dict[str, str], *, phase: str = "Running", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "driver",
            "namespace": "demo",
            "annotations": annotations,
            "labels": labels or {},
        },
        "status": {"phase": phase, "podIP": "198.18.1.9"},
    }


SCRAPED = {"prometheus.io/scrape": "true", "prometheus.io/port": "4050"}


def test_an_annotated_pod_is_a_target_with_its_namespace_and_name() -> None:
    (group,) = discovery.targets([pod(SCRAPED)])
    assert group["targets"] == ["198.18.1.9:4050"]
    assert group["labels"] == {
        "namespace": "demo",
        "pod": "driver",
        "__metrics_path__": "/metrics",
        "__scheme__": "http",
    }


def test_path_and_scheme_come_from_annotations() -> None:
    (group,) = discovery.targets(
        [pod({**SCRAPED, "prometheus.io/path": "/m", "prometheus.io/scheme": "https"})]
    )
    assert (group["labels"]["__metrics_path__"], group["labels"]["__scheme__"]) == ("/m", "https")


def test_our_labels_and_the_spark_role_are_kept_and_others_are_not() -> None:
    labels = {"sluice.dev/job": "ads", "spark-role": "driver", "pod-template-hash": "1"}
    (group,) = discovery.targets([pod(SCRAPED, labels=labels)])
    assert group["labels"]["sluice_dev_job"] == "ads"
    assert group["labels"]["spark_role"] == "driver"
    assert "pod_template_hash" not in group["labels"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_no_target(phase: str) -> None:
    assert discovery.targets([pod(SCRAPED, phase=phase)]) == []


def test_a_pod_without_the_annotation_or_without_an_address_is_no_target() -> None:
    waiting = pod(SCRAPED)
    del waiting["status"]["podIP"]
    assert discovery.targets([pod({}), pod({"prometheus.io/scrape": "false"}), waiting]) == []


def test_the_file_is_written_only_when_the_targets_change(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    discovery.write(path, [])
    first = path.stat().st_ino
    discovery.write(path, [])
    assert path.stat().st_ino == first
    discovery.write(path, discovery.targets([pod(SCRAPED)]))
    assert path.stat().st_ino != first
