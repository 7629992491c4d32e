"""The commands by which people look. Each reads, shows, and ends with an exit code; what it shows is made elsewhere."""

import sys
from datetime import timedelta

import click
from click.shell_completion import get_completion_class

from sluice import __version__
from sluice.adapters.clock import SystemClock
from sluice.console.options import Span, Where, formed, located, one_decision, one_job
from sluice.console.trouble import EXIT_CODES, Exit

_clock = SystemClock()


@click.command(epilog=EXIT_CODES, short_help="Show all about one job.")
@one_job
@click.option(
    "--since",
    type=Span(timedelta(minutes=5)),
    default="1h",
    show_default=True,
    help="How far back the curves go.",
)
@formed
@located
def status(where: Where, job: str, since: timedelta, form: str) -> int:
    """Show all about JOB: conditions, objective, load and latency, executors, failures, events."""
    with where.reader() as reader:
        from sluice.console import sight as sights
        from sluice.console import status as pages
        from sluice.console.printing import show_page, write

        sight = reader.sight(job, since, _clock.now())
        if form == "table":
            show_page(pages.page(sight))
        else:
            write(sights.data(sight), form)
    return Exit.FINE if sight.job.is_fine else Exit.PROBLEM


@click.command(epilog=EXIT_CODES, short_help="Show all jobs, those with a problem first.")
@click.option("-A", "--all-namespaces", is_flag=True, help="The jobs of all namespaces.")
@click.option("--once", is_flag=True, help="Show it once; so it is in a pipe, too.")
@click.option(
    "--every",
    type=Span(timedelta(seconds=1)),
    default="5s",
    show_default=True,
    help="Time between two looks; statuses change every ten seconds at most.",
)
@formed
@located
def top(where: Where, all_namespaces: bool, once: bool, every: timedelta, form: str) -> int:
    """Show all jobs in a table, those with a problem first, until you press Ctrl-C."""
    with where.reader() as reader:
        from sluice.console import watching
        from sluice.console.printing import terminal

        namespace = None if all_namespaces else reader.namespace
        screen = terminal()
        if form != "table" or once or screen is None:
            return watching.show_once(reader, namespace, form, _clock)
        return watching.watch(reader, namespace, every, screen, _clock)


@click.command(epilog=EXIT_CODES, short_help="Print the log of a job's driver.")
@one_job
@click.option("-f", "--follow", is_flag=True, help="Go on until the driver ends.")
@click.option("--tail", type=click.IntRange(min=0), metavar="LINES", help="Only the last lines.")
@click.option("--since", type=Span(timedelta(seconds=1)), help="Only lines that are not older.")
@click.option("--timestamps", is_flag=True, help="Begin each line with its time.")
@click.option("-p", "--previous", is_flag=True, help="The driver's container before this one.")
@located
def logs(where: Where, job: str, **how: object) -> int:
    """Print the log of JOB's driver, as it is in its present incarnation."""
    with where.reader() as reader:
        from sluice.console.driverlog import LogQuery, driver_log

        for piece in driver_log(reader.cluster, reader.namespace, job, LogQuery(**how)):  # type: ignore[arg-type] # click has checked them
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Tell why a job has so many executors.")
@one_job
@one_decision("By default the newest.")
@click.option("--policy", help="Decide by this policy instead, such as hpa:target=0.5.")
@formed
@located
def explain(where: Where, job: str, decision: str | None, policy: str | None, form: str) -> int:
    """Make a decision about JOB again from what is kept of it: situation, reasons, candidates."""
    with where.reader() as reader:
        from sluice.console import explaining
        from sluice.console.printing import show_page, write
        from sluice.core.deciding.policies.wording import policy_of

        other = policy_of(policy) if policy else None
        found, kept = reader.decision(job, decision)
        explained = explaining.Explained(job=found, kept=kept, other=other)
        if form == "table":
            show_page(explaining.page(explained, _clock.now()))
        else:
            write(explaining.data(explained), form)
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Show a job's last decisions and recoveries.")
@one_job
@formed
@located
def history(where: Where, job: str, form: str) -> int:
    """Show the decisions that are kept of JOB, and its last recoveries, the newest last."""
    with where.reader() as reader:
        from sluice.console import history as past
        from sluice.console.printing import show_page, write

        found = reader.past(job)
        if form == "table":
            show_page(past.page(found, _clock.now()))
        else:
            write(past.data(found), form)
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Examine the installation, and say how to mend it.")
@click.option(
    "--operator-namespace",
    metavar="NAMESPACE",
    help="Where the operator is, for people who may not look everywhere.",
)
@formed
@located
def doctor(where: Where, operator_namespace: str | None, form: str) -> int:
    """Examine the installation: CRDs, operator, rights, Prometheus, clocks, jobs; say how to mend each."""
    with where.reader() as reader:
        from sluice.console.doctor import report
        from sluice.console.doctor.checks import Check
        from sluice.console.doctor.examining import Examination
        from sluice.console.printing import show_parts, write

        made: list[Check] = []
        parts = Examination(reader, operator_namespace).parts()
        if form == "table":
            show_parts(lambda width: report.pages(parts, width, made))
        else:
            write(report.data(parts, made), form)
    return report.exit_code(made)


@click.command(epilog=EXIT_CODES, short_help="Show the versions of all parts.")
@click.option("--client", is_flag=True, help="Only of this command; asks no cluster.")
@formed
@located
def version(where: Where, client: bool, form: str) -> int:
    """Show the versions of this command, the operators and the cluster."""
    if client:
        if form == "table":
            click.echo(f"sluice {__version__}")
        else:
            from sluice.console.printing import write

            write({"command": __version__}, form)
        return Exit.FINE
    with where.reader() as reader:
        from sluice.console import versions
        from sluice.console.printing import show_page, write

        found = versions.versions(reader.cluster)
        if form == "table":
            show_page(versions.page(found))
        else:
            write(versions.data(found), form)
    return Exit.FINE


@click.command(epilog=EXIT_CODES, short_help="Print what makes a shell complete the words.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Print what makes SHELL complete the words of `sluice`.

    \b
    For this session:
      source <(sluice completion bash)
      sluice completion fish | source
    `kubectl sluice` is completed by kubectl itself, if kubectl's own completion is set up.
    """
    script = get_completion_class(shell)
    assert script is not None
    click.echo(script(ctx.find_root().command, {}, "sluice", "_SLUICE_COMPLETE").source())
    return Exit.FINE
