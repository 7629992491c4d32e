"""Texts that are bad input of more than one part."""

TOO_DEEP = 100_000 * "["
"""What Python cannot read as JSON, however far down it may go."""
