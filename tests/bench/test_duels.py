"""Rivals with their main knob turned, each beside ours."""

from dataclasses import replace

from bench import duels
from bench.duels import Duel
from sluice.lab.contenders import contenders
from sluice.lab.results import Row
from sluice.lab.verdicts import beaten
from tests.support.labrows import row

HPA = contenders(["hpa", "hpa:target=0.35", "hpa:target=0.5"])


def _scene(trace: str, *rivals: Row) -> list[Row]:
    ours = row("sluice", 0.05, 16.0, trace)
    return [row("static", 0.02, 20.0, trace), ours, *(replace(one, trace=trace) for one in rivals)]


def test_each_scene_is_won_lost_or_paid_for() -> None:
    found = [
        *_scene("won", row("hpa", 0.06, 18.0)),
        *_scene("lost", row("hpa", 0.04, 14.0)),
        *_scene("dearer", row("hpa", 0.06, 14.0)),
        *_scene("later", row("hpa", 0.04, 18.0)),
        *_scene("same", row("hpa", 0.05, 16.0)),
    ]
    (duel,) = duels.fought(found, HPA[:1])
    assert (duel.won, duel.lost, duel.dearer, duel.later) == (1, 1, 1, 2)
    assert [one.rival.trace for one in beaten(duels.rows([duel]))] == ["lost"]


def _positions(*found: tuple[float, float]) -> tuple[Duel, ...]:
    """The duels of the positions of `HPA`, late for so much and at such a price."""
    rivals = [row(str(one), *brought) for one, brought in zip(HPA, found, strict=True)]
    return duels.fought(_scene("ramp", *rivals), HPA)


def test_the_best_position_is_the_cheapest_that_is_late_for_no_more_than_ours() -> None:
    fought = _positions((0.2, 8.0), (0.03, 19.0), (0.05, 17.0))
    assert duels.best(fought).rival == HPA[2]
    lines = duels.told(fought).splitlines()
    assert "| **hpa:target=0.5** | 5 | 85 | 0 | 0 | 0 | 0 | 1 |" in lines
    assert "| hpa | 20 | 40 | 0 | 0 | 0 | 1 | 0 |" in lines


def test_where_all_positions_are_late_for_more_the_best_is_the_least_late() -> None:
    fought = _positions((0.2, 8.0), (0.06, 19.0), (0.1, 17.0))
    assert duels.best(fought).rival == HPA[1]


def test_scenes_have_the_same_weight_and_recoveries_too() -> None:
    small, large = row("hpa", 0.1, 10.0), row("hpa", 0.3, 20.0)
    found = [
        *_scene("small", replace(small, recoveries=1, kept=1)),
        *_scene("large", replace(large, recoveries=3, kept=1)),
    ]
    (duel,) = duels.fought(found, HPA[:1])
    assert (duel.late, duel.price, duel.kept) == (0.2, 0.75, 0.5)
