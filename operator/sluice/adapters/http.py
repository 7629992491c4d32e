"""What clients of HTTP have in common here."""

from aiohttp import ClientError

NO_ANSWER = (ClientError, TimeoutError, ValueError)
"""What a question raises if there is no answer, or none that can be read."""


def is_success(code: int) -> bool:
    """Whether an answer is what was asked for; redirections are none that we follow."""
    return 200 <= code < 300


def why(error: Exception) -> str:
    """What went wrong, in one line; that something took too long is all that a TimeoutError says."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
