"""The commands by which people act on a job. Each changes one thing, and says so."""

from datetime import timedelta
from functools import partial

import click

from sluice.adapters.clock import SystemClock
from sluice.console.options import Numbers, Span, Where, formed, located, one_decision, one_job
from sluice.console.trouble import EXIT_CODES, Exit, WrongUse
from sluice.finite import Finite


@click.command(epilog=EXIT_CODES, short_help="Approve the decision that waits.")
@one_job
@one_decision("Only this one, not what waits by now.")
@located
def approve(where: Where, job: str, decision: str | None) -> int:
    """Approve what is wanted for JOB, where spec.scaling.mode is Approve."""
    with where.reader() as reader:
        from sluice.console import changing

        click.echo(changing.approve(reader.cluster, reader.namespace, job, decision))
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Ask for another number of executors.")
@one_job
@click.argument("executors", type=click.IntRange(min=1))
@located
def rescale(where: Where, job: str, executors: int) -> int:
    """Ask for so many EXECUTORS for JOB, where the operator does not choose them itself."""
    with where.reader() as reader:
        from sluice.console import changing

        click.echo(changing.rescale(reader.cluster, reader.namespace, job, executors))
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Ask for another driver.")
@one_job
@located
def restart(where: Where, job: str) -> int:
    """Restart the driver of JOB in order: after a changed Secret, or for an image whose tag has moved."""
    with where.reader() as reader:
        from sluice.console import changing

        place = (reader.cluster, reader.namespace)
        click.echo(changing.restart(*place, job, SystemClock().now()))
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Make the operator leave a job alone.")
@one_job
@located
def pause(where: Where, job: str) -> int:
    """Make the operator look on at JOB, and start, stop and rescale nothing."""
    with where.reader() as reader:
        from sluice.console import changing

        click.echo(changing.pause(reader.cluster, reader.namespace, job))
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Make the operator act on a paused job again.")
@one_job
@located
def resume(where: Where, job: str) -> int:
    """Make the operator act on JOB again."""
    with where.reader() as reader:
        from sluice.console import changing

        click.echo(changing.resume(reader.cluster, reader.namespace, job))
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Measure copies of a job at several sizes.")
@one_job
@click.option(
    "--executors",
    type=Numbers(),
    default="",
    metavar="N,N,...",
    help="Numbers of executors to measure. Default: the job's bounds, and what they leave open.",
)
@click.option(
    "--from",
    "start",
    type=click.Choice(["earliest", "latest"]),
    default="earliest",
    show_default=True,
    help="Where copies begin to read: earliest for the rows per second that they can process, "
    "latest for the latency of the rows that arrive meanwhile.",
)
@click.option(
    "--core-hours",
    type=Finite(min=0, min_open=True),
    default=2.0,
    show_default=True,
    help="CPU time that all copies together may take.",
)
@click.option(
    "--wall-time",
    type=Span(timedelta(minutes=1)),
    default="30m",
    show_default=True,
    help="The longest time that it may take.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1, max=16),
    default=2,
    show_default=True,
    help="Copies that run at a time.",
)
@click.option(
    "--in",
    "namespaces",
    multiple=True,
    metavar="NAMESPACE",
    help="A namespace of yours for a copy; may be repeated. Default: the operator makes some.",
)
@click.option("--wait", is_flag=True, help="Follow it to its end, and show what was measured.")
@located
def profile(
    where: Where,
    job: str,
    executors: tuple[int, ...],
    start: str,
    core_hours: float,
    wall_time: timedelta,
    parallel: int,
    namespaces: tuple[str, ...],
    wait: bool,
) -> int:
    """Measure what copies of JOB can process, or how long they take, at several numbers of executors.

    JOB goes on undisturbed.
    """
    with where.reader() as reader:
        from sluice.console import profiling
        from sluice.core.profiling.records import Start

        wish = profiling.Wish(
            start=Start(start.capitalize()),
            executors=executors,
            core_hours=core_hours,
            wall_time=wall_time,
            parallel=parallel,
            namespaces=namespaces,
        )
        place = (reader.cluster, reader.namespace)
        declared = profiling.job_of(*place, job)
        body = profiling.declare(reader.cluster, declared, wish, SystemClock())
        name = body["metadata"]["name"]
        click.echo(f"{reader.namespace}/{name}: {profiling.planned(declared, wish)}")
        command = "kubectl {} sp " + f"{name} -n {reader.namespace}"
        if not wait:
            click.echo(f"Follow it: {command.format('get')} -w")
            return Exit.FINE
        click.echo(f"It goes on without you; to end it: {command.format('delete')}")
        ended = profiling.followed(*place, name, click.echo)
        for line in profiling.table(ended):
            click.echo(line)
        if not profiling.is_fine(ended):
            click.echo(profiling.reason(ended["status"]))
    return Exit.FINE if profiling.is_fine(ended) else Exit.PROBLEM


@click.command(epilog=EXIT_CODES, short_help="Kill an executor or the driver, and measure.")
@one_job
@click.option(
    "--kill",
    "victim",
    type=click.Choice(["executor", "driver"]),
    default="executor",
    show_default=True,
    help="What is killed.",
)
@click.option("--pod", metavar="POD", help="This executor. Default: any.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--timeout",
    type=Span(timedelta(seconds=10)),
    default="15m",
    show_default=True,
    help="The longest time to follow the recovery.",
)
@formed
@located
def drill(
    where: Where, job: str, victim: str, pod: str | None, yes: bool, timeout: timedelta, form: str
) -> int:
    """Kill an executor or the driver of JOB, where spec.recovery.drills allows it, and measure its recovery.

    It ends with 0 if the recovery took no longer than spec.recovery.target, and with 1 if it did.
    """
    if pod is not None and victim == "driver":
        raise WrongUse("--pod names an executor, and the driver is to be killed", "Leave it out")
    # Data for scripts has the output for itself.
    is_data = form != "table"
    with where.reader() as reader:
        from sluice.console import drilling
        from sluice.console.printing import write
        from sluice.core.drilling.records import Victim

        cluster = reader.cluster
        plan = drilling.plan(cluster, reader.namespace, job, Victim(victim.title()), pod)
        click.echo(drilling.told(plan), err=is_data)
        if not yes and not click.confirm("Kill it?", err=is_data):
            click.echo("Nothing was killed.", err=is_data)
            return Exit.PROBLEM
        drilled = drilling.Drilling(cluster, plan, SystemClock())
        drilled.ask()
        killed = drilled.kill()
        click.echo("Killed. The operator recovers it with or without you.", err=is_data)
        try:
            outcome = drilled.followed(killed, timeout, partial(click.echo, err=is_data))
        except KeyboardInterrupt:
            click.echo(f"\nThe operator goes on; {drilling.where_to_look(plan)}", err=True)
            return Exit.INTERRUPTED
        if is_data:
            write(drilling.data(outcome), form)
        else:
            click.echo(drilling.verdict(outcome))
    return Exit.FINE if outcome.is_met else Exit.PROBLEM
