"""Options that the commands share: which cluster and namespace, how to write the answer, and words to complete.

The libraries of the extra `cli` are imported when a command runs, so that help and completion come at once.
"""

import importlib.util
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from sluice.console import words
from sluice.console.trouble import Trouble, WrongUse
from sluice.core import quantities

if TYPE_CHECKING:
    from sluice.console.gathering import Reader

_YEAR = timedelta(days=366)
"""Nobody looks back, or waits, for longer; a calendar ends somewhere."""

_LIBRARIES = ("kubernetes", "rich")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which cluster, and which of its namespaces."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    prometheus: str | None = None

    @contextmanager
    def reader(self) -> Iterator["Reader"]:
        """Read that cluster. Raises Trouble if there is none."""
        _require_libraries()
        _require_namespace(self.namespace)
        from sluice.console.cluster import connect
        from sluice.console.gathering import Reader

        with connect(kubeconfig=self.kubeconfig, context=self.context) as cluster:
            yield Reader(cluster, self.namespace or cluster.namespace, self.prometheus)


def _require_libraries() -> None:
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        told = f"this command needs the Python packages {' and '.join(missing)}"
        raise WrongUse(told, "Install them, in a checkout of Sluice: pip install '.[cli]'")


def _require_namespace(name: str | None) -> None:
    """A path with another text in it leads elsewhere, where nothing is found of which the answer would be true."""
    if name and not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
        remedy = "Write for example -n shop; a job is named without its namespace"
        raise WrongUse(f"--namespace: {name!r} is no name of a namespace", remedy)


Command = Callable[..., int]


def located(command: Command) -> Command:
    """Give a command the options that make a `Where`, which it takes first."""

    @click.option(
        "-n",
        "--namespace",
        shell_complete=lambda ctx, _, text: _completions(ctx, text, _namespaces),
        help="Namespace of the jobs. Default: the context's.",
    )
    @click.option("--context", help="Context of the kubeconfig. Default: its current one.")
    @click.option(
        "--kubeconfig", help="Path of the kubeconfig. Default: KUBECONFIG's, or the user's own."
    )
    @click.option(
        "--prometheus",
        metavar="URL",
        envvar="SLUICE_PROMETHEUS_URL",
        help="Address of Prometheus. Default: the operator's, through the API server if it is a service.",
    )
    @wraps(command)
    def with_where(
        namespace: str | None,
        context: str | None,
        kubeconfig: str | None,
        prometheus: str | None,
        **others: Any,
    ) -> int:
        where = Where(
            namespace=namespace, context=context, kubeconfig=kubeconfig, prometheus=prometheus
        )
        return command(where, **others)

    return with_where


formed = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    help="A page for people (the default), or data for scripts.",
)


class JobName(click.types.StringParamType):
    """A name of a job. Whoever gives none is told where the names are."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:  # noqa: ARG002  click's own
        """What follows the words that the argument is missing."""
        return "`sluice top` shows all jobs, with -A those of all namespaces."


one_job = click.argument(
    "job", type=JobName(), shell_complete=lambda ctx, _, text: _completions(ctx, text, _jobs)
)


def one_decision(told: str) -> Callable[[Command], Command]:
    """Give a command the option that names a decision."""
    return click.option(
        "--decision",
        metavar="ID",
        shell_complete=lambda ctx, _, text: _completions(ctx, text, partial(_decisions, ctx)),
        help=f"A decision, as `sluice history` lists them. {told}",
    )


class Span(click.ParamType[timedelta]):
    """A duration, written as in a spec."""

    name = "duration"

    def __init__(self, least: timedelta, most: timedelta = _YEAR) -> None:
        self._least, self._most = least, most

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Read it."""
        try:
            span = quantities.duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if span < self._least:
            least = quantities.format_duration(self._least)
            self.fail(f"{value!r} is too short; {least} is the least", param, ctx)
        if span > self._most:
            most = words.long_span(self._most)
            self.fail(f"{value!r} is too long; {most} is the most", param, ctx)
        return span


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers from one, with commas between them."""

    name = "numbers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read them."""
        if isinstance(value, tuple):
            return value
        parts = [part.strip() for part in value.split(",")] if value else []
        for part in parts:
            if not part.isdecimal() or not int(part):
                self.fail(
                    f"{part!r} is no number of executors; write for example 1,2,4", param, ctx
                )
        numbers = tuple(int(part) for part in parts)
        if len(set(numbers)) < len(numbers):
            self.fail(f"{value!r} names the same number twice; remove one", param, ctx)
        return numbers


def _completions(
    ctx: click.Context, text: str, names: Callable[["Reader"], list[str]]
) -> list[str]:
    place = {one: ctx.params.get(one) for one in ("namespace", "context", "kubeconfig")}
    try:
        with Where(**place).reader() as reader:
            return [name for name in names(reader) if name.startswith(text)]
    except Trouble:
        # Whoever presses Tab wants no error in the middle of the line.
        return []


def _jobs(reader: "Reader") -> list[str]:
    from sluice.console import finding

    found = finding.jobs(reader.cluster, reader.namespace)
    return [one["metadata"]["name"] for one in found]


def _namespaces(reader: "Reader") -> list[str]:
    from sluice.console import finding

    found = finding.jobs(reader.cluster, None)
    return sorted({one["metadata"]["namespace"] for one in found})


def _decisions(ctx: click.Context, reader: "Reader") -> list[str]:
    # Click leaves words unnamed while the option that is completed has no value yet.
    job = ctx.params.get("job") or next(iter(ctx.args), None)
    return [one.id for one in reader.past(job).decisions] if job else []
