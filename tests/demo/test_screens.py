"""The story in a terminal and without one."""

import pytest

from demo.screens import Lines, Terminal
from tests.demo.stories import grown, look, recovered, told

WIDE = {"COLUMNS": "100", "LINES": "30"}


def test_without_a_terminal_numbers_come_every_quarter_of_a_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines, story = Lines(), told(look(0.0))
    for second in range(3, 34, 3):
        lines.show(story)
        story = story.with_look(look(float(second)))
    told_at = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "1/5" in line]
    assert told_at == ["0:00", "0:15", "0:30"]


def test_without_a_terminal_what_happens_is_told_at_once_and_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines()
    lines.show(grown())
    lines.show(recovered())
    lines.show(recovered())
    assert capsys.readouterr().out.count("The demo kills the driver") == 1


def test_a_terminal_is_given_back_and_keeps_the_diary(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in WIDE.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal()
    terminal.show(grown())
    terminal.show(recovered())
    terminal.close()
    drawn, left = capsys.readouterr().out.split("\x1b[?1049l")
    assert drawn.startswith("\x1b[?1049h")
    assert drawn.count("\x1b[H") == 2
    assert "The demo kills the driver" in left
