"""`python -m sluice.lab`: the same as `sluice lab`."""

import sys

import click

from sluice.errors import SluiceError
from sluice.lab.commands import lab


def main() -> int:
    """Run a command; what was asked for wrongly is said in a line."""
    try:
        return int(lab.main(prog_name="sluice lab", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return 130
    except SluiceError as error:
        click.echo(f"sluice lab: {error}", err=True)
        return 2


if __name__ == "__main__":
    sys.exit(main())
