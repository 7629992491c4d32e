"""The commands by which people act on a job. Each changes one thing, and says so."""

import click

from sluice.console.options import Where, located, one_decision, one_job
from sluice.console.trouble import EXIT_CODES, Exit


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
