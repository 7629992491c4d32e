"""What clients of HTTP have in common here."""

from aiohttp import ClientError

NO_ANSWER = (ClientError, TimeoutError, ValueError, RecursionError)
"""What a question raises if there is no answer, or none that can be read: JSON may be nested too deeply for Python."""


def is_success(code: int) -> bool:
    """Whether an answer is what was asked for; redirections are none that we follow."""
    return 200 <= code < 300


def why(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return f"{type(error).__name__}: {error}"
