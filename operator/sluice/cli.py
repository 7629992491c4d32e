"""The `sluice` command: each subcommand is wired here and does its work elsewhere."""

import argparse
import asyncio
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from sluice import __version__, logs

_GENERATED = (Path("crds/streamjobs.yaml"), Path("charts/sluice/crds/streamjobs.yaml"))
_REFERENCE = Path("docs/reference/streamjob.md")
_METRICS = Path("docs/metrics.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and give its exit code."""
    options = _parser().parse_args(arguments)
    code: int = options.run(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sluice", description="Sluice, an operator for Spark streaming."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run the operator (settings: SLUICE_OPERATOR_*)")
    run.set_defaults(run=lambda _: _run())
    crds = commands.add_parser(
        "crds", help="print the CRDs, or keep all files that are made from the code up to date"
    )
    how = crds.add_mutually_exclusive_group()
    how.add_argument(
        "--write",
        action="store_true",
        help="write the CRDs, the reference page and the metrics page",
    )
    how.add_argument(
        "--check", action="store_true", help="fail if a file differs from what would be written"
    )
    crds.set_defaults(run=_crds)
    return parser


def _crds(options: argparse.Namespace) -> int:
    if not (options.write or options.check):
        print(_crd_text(), end="")
        return 0
    texts = _generated_texts()
    if options.write:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    stale = [
        str(path) for path, text in texts.items() if not path.exists() or path.read_text() != text
    ]
    for name in stale:
        print(f"{name} is not what the code says; run `make generate`", file=sys.stderr)
    return 1 if stale else 0


def _crd_text() -> str:
    from sluice.api import crds

    text = "# Made from the models in operator/sluice/api by `sluice crds --write`; do not edit.\n"
    return text + yaml.safe_dump(
        crds.streamjob_crd(), sort_keys=False, width=110, allow_unicode=True
    )


def _generated_texts() -> Mapping[Path, str]:
    from sluice.api import crds
    from sluice.catalogue.page import with_tables

    return {
        **dict.fromkeys(_GENERATED, _crd_text()),
        _REFERENCE: crds.reference_page(),
        _METRICS: with_tables(_METRICS.read_text()),
    }


def _run() -> int:
    from pydantic import ValidationError

    from sluice.adapters.credentials import find_credentials
    from sluice.errors import SluiceError
    from sluice.settings import Settings

    try:
        settings = Settings()
        credentials = find_credentials(os.environ)
    except (ValidationError, SluiceError) as error:
        print(f"sluice: {error}", file=sys.stderr)
        return 2
    logs.configure(level=settings.log_level, form=settings.log_format)
    from sluice.handlers.running import run_operator

    asyncio.run(run_operator(settings, credentials, fresh_key=secrets.token_bytes(32)))
    return 0
