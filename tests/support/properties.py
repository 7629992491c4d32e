"""Read a Java properties file, by the rules of java.util.Properties.load."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"(?:[^\\\n\r]|\\(?:\r\n|.|\n))+", re.DOTALL)
_KEY = re.compile(r"((?:[^\\ \t\f:=]|\\.)*)[ \t\f]*[:=]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(?:\r\n|\r|\n)[ \t\f]*|(.))")
_NAMED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def read_properties(text: str) -> dict[str, str]:
    """The settings of a properties file."""
    return dict(_entries(text))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    for match in _LINE.finditer(text):
        line = match[0].lstrip(" \t\f")
        if not line or line[0] in "#!":
            continue
        parts = _KEY.fullmatch(line)
        assert parts is not None, line
        yield _plain(parts[1]), _plain(parts[2])


def _plain(text: str) -> str:
    """Escapes resolved; pairs of surrogates joined, as in Java's UTF-16 strings."""

    def resolved(escape: re.Match[str]) -> str:
        code, char = escape[1], escape[2]
        if code:
            return chr(int(code, 16))
        return _NAMED.get(char, char) if char else ""

    units = _ESCAPE.sub(resolved, text)
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
