"""Who is compared, and what each is applied as: one StreamJob that differs in `spec.scaling` alone.

    static    as many executors as there may be, all the time
    hpa       Kubernetes' HorizontalPodAutoscaler on the scale subresource, by the CPU of the executors
    phoebe    the policy of that name, which begins with a profile
    sluice    ours, which begins with the same profile

Of the first two the operator observes only, so that it predicts recoveries, too. All begin with as many executors as
`static`, and drain the same history of rows.
"""

from collections.abc import Mapping
from typing import Any

from bench.closed_loop.scene import FETCH_WAIT, Scene
from e2e.support import jobs

Json = dict[str, Any]

STATIC, HPA, PHOEBE, SLUICE = "static", "hpa", "phoebe", "sluice"

CONTENDERS: Mapping[str, Mapping[str, str]] = {
    STATIC: {"mode": "Observe", "policy": "sluice"},
    HPA: {"mode": "Observe", "policy": "sluice"},
    PHOEBE: {"mode": "Auto", "policy": "phoebe"},
    SLUICE: {"mode": "Auto", "policy": "sluice"},
}
"""What of `spec.scaling` differs."""

PROFILED = frozenset((PHOEBE, SLUICE))
"""Those that begin with a profile, whose price is theirs."""

JOB = "enrichment"

PROFILE_BUDGET = {"coreHours": 2, "wallTime": "30m"}


def stream_job(scene: Scene, contender: str) -> Json:
    """The StreamJob of a contender. One with a profile rests until that has ended: the copies have the machine."""
    body = jobs.enrichment(JOB, scene.wait, **_scaling(scene, contender))
    spec = body["spec"]
    spec["application"]["arguments"] += [
        f"--max-offsets-per-trigger={scene.most_rows}",
        f"--fetch-max-wait-milliseconds={1000 * FETCH_WAIT:g}",
    ]
    spec["executors"] |= {"min": scene.smallest, "max": scene.largest, "initial": scene.largest}
    # An objective over weeks, as most are: over an hour, one failure would forbid to shrink for the rest of the run.
    spec["slo"] = {
        "latency": {"percentile": scene.share, "bound": f"{scene.bound:g}s"},
        "window": "28d",
    }
    spec["recovery"] = {"target": f"{scene.target:g}s"}
    spec["suspend"] = contender in PROFILED
    return body


def _scaling(scene: Scene, contender: str) -> dict[str, str]:
    return {
        **CONTENDERS[contender],
        "interval": f"{scene.interval:g}s",
        "horizon": f"{scene.horizon:g}s",
        "stabilisation": f"{scene.stabilisation:g}s",
    }


def stream_profile(scene: Scene, namespace: str) -> Json:
    """The profile of that job: copies at two sizes, one after the other; the largest is learned from the history."""
    sizes = [scene.smallest, (scene.smallest + scene.largest) // 2]
    return {
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "StreamProfile",
        "metadata": {"name": JOB},
        "spec": {
            "job": JOB,
            "executors": sizes,
            "parallel": 1,
            "namespaces": [namespace],
            "budget": dict(PROFILE_BUDGET),
        },
    }


def autoscaler(scene: Scene, millicores: float) -> Json:
    """The HorizontalPodAutoscaler that keeps the executors at so many millicores each.

    It gives up executors as soon as `spec.scaling.stabilisation` lets the others do.
    """
    target = {"apiVersion": "sluice.dev/v1alpha1", "kind": "StreamJob", "name": JOB}
    cpu = {
        "name": "cpu",
        "target": {"type": "AverageValue", "averageValue": f"{round(millicores)}m"},
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": JOB},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": scene.smallest,
            "maxReplicas": scene.largest,
            "metrics": [{"type": "Resource", "resource": cpu}],
            "behavior": {
                "scaleDown": {"stabilizationWindowSeconds": int(scene.stabilisation)},
            },
        },
    }
