"""Write a file as a whole or not at all."""

import secrets
from contextlib import suppress
from pathlib import Path

from sluice.console.trouble import WrongUse


def write(path: Path, text: str) -> None:
    """Put a text in the place of what a file had before. Raises WrongUse if that cannot be done."""
    target = path.resolve()
    # Beside it, because only within one file system a name is changed at once.
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("x", encoding="utf-8") as file:
            file.write(text)
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        told = f"--output: {str(path)!r} cannot be written: {error.strerror or error}"
        raise WrongUse(told, "Name a file in a directory that exists and is yours") from error
