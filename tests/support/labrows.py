"""Rows of a lab's result: a test names only what it is about."""

from sluice.lab.results import Row


def row(policy: str, late: float, hours: float, trace: str = "ramp", length: float = 2.0) -> Row:
    """What a policy has brought; all else is nothing."""
    return Row(
        plant="phoebe",
        trace=trace,
        suite="reporting",
        policy=policy,
        seeds=(1,),
        late=late,
        seen_late=late,
        attainment=1 - late,
        p95_latency=1.0,
        executor_hours=hours,
        profiling_hours=0.0,
        mean_executors=1.0,
        live_rescales=0.0,
        restart_rescales=0.0,
        turns=0.0,
        recoveries=0,
        kept=0,
        prediction_error=None,
        cpu_p99=0.0,
        cpu_forecast=0.0,
        hours=length,
        failures="drivers",
        profile=True,
        bound=2.0,
        target=180.0,
        job="",
        load="",
    )
