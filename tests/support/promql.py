"""Which metrics a PromQL expression reads; enough of the language for the expressions of this repository."""

import re

_OFFSETS = re.compile(r"\boffset\s+\w+")
_STRINGS = re.compile(r"\"[^\"]*\"|'[^']*'")
_MATCHERS = re.compile(r"\{[^}]*\}|\[[^\]]*\]")
_LABEL_LISTS = re.compile(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_NAMES = re.compile(r"[a-zA-Z_:][\w:]*(?!\w|\s*\()")
_WORDS = frozenset({"and", "or", "unless", "bool", "offset", "inf", "nan"})


def metrics_in(expression: str) -> set[str]:
    """The names of the series that are selected."""
    plain = _OFFSETS.sub("", _MATCHERS.sub("", _STRINGS.sub("", expression)))
    return {
        name
        for name in _NAMES.findall(_LABEL_LISTS.sub(" ", plain))
        if name not in _WORDS and not re.fullmatch(r"e\d*", name)
    }
