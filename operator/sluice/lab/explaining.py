"""`sluice lab explain`: make a stored decision again, and tell each candidate with what speaks against it."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from sluice.core.deciding.decision import Policy
from sluice.core.deciding.explain import explained
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.policies.wording import policy_of
from sluice.core.deciding.storing import Record, from_data, record_from_data
from sluice.errors import CorruptState, InvalidSpec, Problem

REMEDY = "give the JSON of a stored decision, or of a situation"


@click.command(short_help="Make a stored decision again, and tell why.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--policy", help="Decide by this policy instead, such as hpa:target=0.5.")
def explain(file: Path, policy: str | None) -> int:
    """Make the decision of FILE again (- is the standard input), and tell why it is made.

    FILE has a decision as it is stored, with its policy and settings; or a situation alone, in which the policy
    `sluice` decides.
    """
    record = read(file, policy_of(policy) if policy else None)
    for line in explained(record.situation, record.decided()):
        click.echo(line)
    return 0


def read(file: Path, policy: Policy | None = None) -> Record:
    """What is stored in a file, with another policy if one is given. Raises InvalidSpec."""
    data = _data(file)
    try:
        if data.get("kind") == "Situation":
            return Record(situation=from_data(data), policy=policy or Sluice(), settings=Settings())
        found = record_from_data(data)
    except (CorruptState, ValueError) as error:
        raise _refusal(file, str(error.__cause__ or error)) from error
    return Record(situation=found.situation, policy=policy or found.policy, settings=found.settings)


def _data(file: Path) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise _refusal(file, error.strerror or str(error)) from error
    except ValueError as error:
        raise _refusal(file, f"no JSON: {error}") from error
    if not isinstance(data, dict):
        raise _refusal(file, f"a {type(data).__name__}")
    return data


def _refusal(file: Path, value: str) -> InvalidSpec:
    return InvalidSpec([Problem(f"file {file}", value, REMEDY)])
