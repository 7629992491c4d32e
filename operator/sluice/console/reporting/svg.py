"""Parts of an SVG as text, and the colours of light and dark. Texts are other people's: all of them are escaped."""

import html
from dataclasses import dataclass

from sluice.console.words import printable

LETTER = 0.56
"""The width of a letter of most fonts, on average, as a share of its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Colours that differ by lightness too, each with a contrast of at least 4.5 on its paper (WCAG 2.2, 1.4.3)."""

    paper: str
    ink: str
    soft: str
    faint: str
    blue: str
    orange: str
    purple: str
    teal: str
    red: str


LIGHT = Palette(
    paper="#ffffff",
    ink="#1c2733",
    soft="#5a6672",
    faint="#dde3e9",
    blue="#1f6fb2",
    orange="#ad5400",
    purple="#7547b5",
    teal="#17756b",
    red="#bd2440",
)
DARK = Palette(
    paper="#14191f",
    ink="#e3e9ef",
    soft="#9ba8b5",
    faint="#303a45",
    blue="#62b0ee",
    orange="#f3a055",
    purple="#b99af0",
    teal="#5cc7b8",
    red="#f5869a",
)

_SHAPES = """
svg text { font: 11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
svg path, svg rect { fill: none; stroke-linecap: round; stroke-linejoin: round; }
svg .title, svg .mark { paint-order: stroke; stroke-width: 3px; }
svg .middle { text-anchor: middle; } svg .end { text-anchor: end; }
svg .name { font-size: 20px; font-weight: 600; } svg .value { font-size: 22px; font-weight: 600; }
svg .title { font-size: 12px; font-weight: 600; } svg .small { font-size: 10px; }
svg .arriving, svg .latency, svg .lag, svg .forecast, svg .capacity { stroke-width: 1.6; }
svg .wanted { stroke-width: 1.6; } svg .running { stroke-width: 1; }
svg .forecast { stroke-dasharray: 5 4; } svg .wished { stroke-width: 1.8; stroke-dasharray: .1 4; }
svg .capacity { stroke-width: 2.2; } svg .bound { stroke-width: 1.4; stroke-dasharray: 9 4; }
svg .grid { stroke-width: .7; } svg .leader { stroke-width: .8; stroke-dasharray: .1 3; }
svg .across { stroke-width: .9; stroke-dasharray: 2 3; }
"""


def style() -> str:
    """How all classes look, in both lights."""
    dark = f"@media (prefers-color-scheme: dark) {{{_coloured(DARK)}}}"
    return f"{_SHAPES}{_coloured(LIGHT)}{dark}"


def _coloured(one: Palette) -> str:
    lines = {
        one.ink: ("arriving", "wanted"),
        one.orange: ("forecast", "wished"),
        one.blue: ("capacity", "running"),
        one.purple: ("latency",),
        one.teal: ("lag",),
        one.red: ("bound",),
    }
    named = "\n".join(
        f"svg path.{name} {{ stroke: {colour}; }} svg text.{name} {{ fill: {colour}; }}"
        for colour, names in lines.items()
        for name in names
    )
    return f"""
svg text {{ fill: {one.soft}; }} svg .dark {{ fill: {one.ink}; }}
svg .paper {{ fill: {one.paper}; stroke: {one.faint}; }} svg .title, svg .mark {{ stroke: {one.paper}; }}
svg .grid {{ stroke: {one.faint}; }}
svg .leader, svg .across {{ stroke: {one.soft}; }} svg .to-come {{ fill: {one.faint}; fill-opacity: .5; }}
svg .area-running {{ fill: {one.blue}; fill-opacity: .22; }}
svg .area-lag {{ fill: {one.teal}; fill-opacity: .16; }}
svg .failed {{ fill: {one.red}; fill-opacity: .13; }} svg .restarted {{ fill: {one.soft}; fill-opacity: .15; }}
svg .failure {{ fill: {one.orange}; }} svg .late {{ fill: {one.red}; }}
svg .chosen {{ fill: {one.faint}; stroke: {one.soft}; }}
svg .profile {{ fill: {one.teal}; fill-opacity: .3; stroke: {one.teal}; }}
svg .live {{ fill: {one.paper}; stroke: {one.ink}; }}
svg .restart {{ fill: {one.ink}; stroke: {one.ink}; }}
{named}
"""


def text(x: float, y: float, words: str, style: str = "") -> str:
    """Words from a place on; the classes `middle` and `end` put them around it and before it."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escaped(words)}</text>'


def path(drawn: str, style: str, told: str = "") -> str:
    """A line; what is told is shown by pointing at it."""
    return f'<path class="{style}" d="{drawn}">{_told(told)}</path>'


def box(x: float, y: float, width: float, height: float, style: str, told: str = "") -> str:
    """A rectangle."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect class="{style}" {place}>{_told(told)}</rect>'


def escaped(words: object) -> str:
    """Words that are no markup, in one line."""
    return html.escape(printable(words))


def width_of(words: str, size: float = 11.0) -> float:
    """About how wide words are."""
    return len(words) * LETTER * size


def fitted(words: str, width: float, size: float = 11.0) -> str:
    """As much of the words as fits."""
    most = int(width / (LETTER * size))
    return words if len(words) <= most else f"{words[: max(most - 1, 0)]}…"


def _told(words: str) -> str:
    return f"<title>{escaped(words)}</title>" if words else ""
