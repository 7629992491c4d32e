"""What a run says of itself while it goes on."""

import pytest

from bench.closed_loop import pacing
from bench.closed_loop.pacing import Pace
from bench.closed_loop.scene import Scene
from bench.progress import Progress

PARTS = {"one": 100.0, "two": 200.0, "three": 300.0}


def test_what_is_left_is_the_rest_of_this_part_and_all_that_follow() -> None:
    now = 0.0
    pace = Pace(Progress(), PARTS, clock=lambda: now)
    assert pace.left() == 600
    now = 40.0
    assert pace.left() == 560
    pace.begin("two")
    now = 100.0
    assert pace.left() == 440


def test_a_part_that_takes_longer_than_expected_takes_nothing_from_the_others() -> None:
    now = 0.0
    pace = Pace(Progress(), PARTS, clock=lambda: now)
    now = 500.0
    assert pace.left() == 500


def test_only_those_with_a_profile_are_profiled() -> None:
    scene = Scene()
    assert pacing.PROFILING in pacing.plan(scene, "sluice")
    assert pacing.PROFILING not in pacing.plan(scene, "static")
    assert pacing.plan(scene, "hpa")[pacing.LOADING] == scene.seconds


def test_a_line_has_what_is_done_and_for_how_long_yet(capsys: pytest.CaptureFixture[str]) -> None:
    pace = Pace(Progress(), PARTS, clock=lambda: 0.0)
    pace.say("half of it")
    assert "one: half of it; about 10 min left" in capsys.readouterr().out
