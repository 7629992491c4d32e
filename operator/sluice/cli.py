"""The `sluice` command: each subcommand is wired here, in `console` or in `lab`, and does its work elsewhere.

The operator's process starts here, too, so nothing is imported before the command that needs it is known.
"""

import asyncio
import errno
import io
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from sluice import __version__, logs
from sluice.console.trouble import Exit, Trouble
from sluice.errors import InvalidSpec

if TYPE_CHECKING:
    from sluice.api.crds import Kind

COMPLETE = "_SLUICE_COMPLETE"
"""The variable by which shells ask for completions."""

_DEFINITIONS = (Path("crds"), Path("charts/sluice/crds"))
_REFERENCE = Path("docs/reference")
_METRICS = Path("docs/metrics.md")

_FOR_PEOPLE = {
    **dict.fromkeys(("status", "top", "logs", "explain", "history"), "commands"),
    "report": "reporting.command",
    **dict.fromkeys(
        ("approve", "rescale", "restart", "pause", "resume", "profile", "drill"), "acting"
    ),
    **dict.fromkeys(("doctor", "version", "completion"), "commands"),
}
"""The console's commands, and the modules that have them."""


class _Commands(click.Group):
    """The commands of this file, and those of the console, which are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those for people first."""
        return [*_FOR_PEOPLE, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name."""
        if cmd_name not in _FOR_PEOPLE:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"sluice.console.{_FOR_PEOPLE[cmd_name]}")
        found: click.Command = getattr(module, cmd_name)
        return found


class _Simulating(click.Command):
    """A command of the lab, whose libraries are not in the operator's image, which must be able to print a help."""

    def __init__(self, name: str, module: str, help_text: str) -> None:
        super().__init__(name, help=help_text)
        self._module = module

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """That of the real command, which so does all the rest."""
        return self._real().make_context(info_name, args, parent, **extra)

    def _real(self) -> click.Command:
        found: click.Command = getattr(import_module(f"sluice.lab.{self._module}"), str(self.name))
        return found


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(__version__)
        sys.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show this command's version.",
)
def sluice() -> None:
    """Sluice, an operator for Spark Structured Streaming: look at its jobs and act on them."""


for _command in (
    _Simulating("lab", "commands", "Try policies on simulated jobs."),
    _Simulating("backtest", "backtesting", "Try policies under a job's own load."),
):
    sluice.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and give its exit code; wrong words end the process."""
    _replace_what_the_output_lacks()
    called = Path(sys.argv[0]).name
    program = "kubectl sluice" if called == "kubectl-sluice" else "sluice"
    try:
        code: int = sluice.main(
            arguments, prog_name=program, complete_var=COMPLETE, standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        return Exit.INTERRUPTED
    except Trouble as error:
        click.echo(f"{program}: {error}", err=True)
        return error.code
    except InvalidSpec as error:
        click.echo(f"{program}: {error}", err=True)
        return Exit.WRONG_USE
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo(f"{program}: the output is cut off: {error.strerror}; make room", err=True)
        return Exit.PROBLEM
    return code


def _replace_what_the_output_lacks() -> None:
    """Texts and curves may need characters that the terminal's encoding has not: each becomes a question mark."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def complete() -> int:
    """What kubectl runs to complete the words after `kubectl sluice`: one a line, then what the shell may add."""
    from click.shell_completion import ShellComplete

    *before, last = sys.argv[1:] or [""]
    for one in ShellComplete(sluice, {}, "kubectl sluice", COMPLETE).get_completions(before, last):
        click.echo(f"{one.value}\t{one.help}" if one.help else one.value)
    click.echo(":4")  # in Cobra's protocol: no names of files
    return 0


@sluice.command(short_help="Run the operator (settings: SLUICE_OPERATOR_*).")
def run() -> int:
    """Run the operator. Its settings are environment variables, SLUICE_OPERATOR_*."""
    return _run()


@sluice.command(short_help="Print the CRDs.")
@click.option(
    "--write", is_flag=True, help="Write the CRDs, the reference page and the metrics page."
)
@click.option("--check", is_flag=True, help="Fail if a file differs from what would be written.")
def crds(write: bool, check: bool) -> int:
    """Print the CRDs, or keep all files that are made from the code up to date."""
    if write and check:
        raise click.UsageError("--write and --check exclude each other; choose one")
    if write:
        return _write_generated()
    if check:
        return _check_generated()
    print(_crd_texts(), end="")
    return 0


def _write_generated() -> int:
    for path, text in _generated_texts().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


def _check_generated() -> int:
    stale = [
        str(path)
        for path, text in _generated_texts().items()
        if not path.exists() or path.read_text() != text
    ]
    for name in stale:
        print(f"{name} is not what the code says; run `make generate`", file=sys.stderr)
    return 1 if stale else 0


def _crd_text(kind: "Kind") -> str:
    from sluice.api import crds

    text = "# Made from the models in operator/sluice/api by `sluice crds --write`; do not edit.\n"
    return text + yaml.safe_dump(crds.crd(kind), sort_keys=False, width=110, allow_unicode=True)


def _crd_texts() -> str:
    from sluice.api import crds

    return "---\n".join(_crd_text(kind) for kind in crds.KINDS)


def _generated_texts() -> Mapping[Path, str]:
    from sluice.api import crds
    from sluice.catalogue.page import with_tables

    made = {
        folder / f"{kind.plural}.yaml": _crd_text(kind)
        for kind in crds.KINDS
        for folder in _DEFINITIONS
    }
    pages = {
        _REFERENCE / f"{kind.name.lower()}.md": crds.reference_page(kind) for kind in crds.KINDS
    }
    return {**made, **pages, _METRICS: with_tables(_METRICS.read_text())}


def _run() -> int:
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from sluice.adapters.credentials import find_credentials
    from sluice.errors import SluiceError
    from sluice.settings import Settings

    try:
        settings = Settings()
        credentials = find_credentials(os.environ)
    except (ValidationError, SluiceError) as error:
        print(f"sluice: {error}", file=sys.stderr)
        return 2
    except SettingsError as error:
        print(f"sluice: {error}: write it as JSON ({error.__cause__})", file=sys.stderr)
        return 2
    logs.configure(level=settings.log_level, form=settings.log_format)
    from sluice.handlers.running import run_operator

    asyncio.run(run_operator(settings, credentials, fresh_key=secrets.token_bytes(32)))
    return 0
