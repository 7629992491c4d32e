"""The picture and the page: that both stand alone, that gaps are gaps, and that words do not meet."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from sluice.console.job import Job
from sluice.console.reporting import marks, svg
from sluice.console.reporting.course import Course
from sluice.console.reporting.frame import LEFT, RIGHT, WIDTH, Frame, Plot
from sluice.console.reporting.page import page
from sluice.console.reporting.panels import panels, spread
from sluice.console.reporting.picture import picture
from tests.console.reporting.scenes import AWAY, HOUR, START, body, kept, minute, past, told
from tests.support.jobs import NOW

SVG = "{http://www.w3.org/2000/svg}"


def parts(course: Course, style: str, tag: str = "path") -> list[ET.Element]:
    """The parts of a class."""
    root = ET.fromstring(picture(course))
    return [one for one in root.iter(f"{SVG}{tag}") if style in one.get("class", "").split()]


def texts(course: Course) -> list[str]:
    return [one.text or "" for one in ET.fromstring(picture(course)).iter(f"{SVG}text")]


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in (picture(told()), page(told())):
        links = re.findall(r'https?://[^\s"<]+', file)
        assert set(links) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"<script|<link|<img|@import|url\(", file)


def test_both_lights_have_each_colour() -> None:
    for file in (picture(told()), page(told())):
        _, dark = file.split("@media (prefers-color-scheme: dark)", 1)
        for name in ("paper", "ink", "soft", "faint"):
            assert getattr(svg.LIGHT, name) in file
            assert getattr(svg.DARK, name) in dark


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [svg.LIGHT, svg.DARK], ids=["light", "dark"])
def test_words_can_be_read_on_their_paper(palette: svg.Palette) -> None:
    paper = luminance(palette.paper)
    for name in ("ink", "soft", "blue", "orange", "purple", "teal", "red"):
        pair = sorted((paper, luminance(getattr(palette, name))))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, name


def test_a_gap_interrupts_the_curve() -> None:
    (whole,) = parts(told(arriving=lambda _: 1000.0), "arriving")
    (broken,) = parts(told(arriving=lambda at: None if 20 <= at < 21 else 1000.0), "arriving")
    assert whole.get("d", "").count("M") == 1
    assert broken.get("d", "").count("M") == 2


def test_what_is_not_measured_is_said_and_not_drawn() -> None:
    unknown = told(latency=[])
    assert parts(unknown, "latency") == []
    assert texts(unknown).count("not measured in this time") == 1


def test_a_panel_without_numbers_has_no_axis() -> None:
    assert not {"0.25", "0.5"} & set(texts(told(arriving=[], forecast=[], capacity=[])))
    assert "0" in texts(told(arriving=[], forecast=[], capacity=lambda _: 0.0))


def test_a_job_that_is_not_scaled_has_neither_forecast_nor_capacity_nor_wish() -> None:
    found = told(forecast=[], capacity=[], wished=[])
    assert not {"forecast", "capacity", "policy's wish"} & set(texts(found))
    assert not any("Forecast" in one for one in texts(found))


def test_a_forecast_stands_at_the_moment_of_which_it_speaks() -> None:
    peak = told(forecast=lambda at: 9000.0 if 25 <= at < 26 else 5000.0).curves.forecast
    at = next(moment for moment, value in peak.points if value == 9000)
    assert at == minute(30)
    assert max(moment for moment, _ in peak.points) == NOW + timedelta(minutes=5)


def test_what_is_to_come_is_shown_only_where_it_can_be_seen() -> None:
    assert len(parts(told(), "to-come", "rect")) == 1
    assert parts(told(forecast=[]), "to-come", "rect") == []


def test_a_latency_far_beyond_its_bound_is_cut_and_told() -> None:
    spike = told(latency=lambda at: 400.0 if 20 <= at < 21 else 2.0)
    assert "up to 400s" in texts(spike)
    panel = panels(spike)[2]
    assert panel.ceiling(Frame(start=START, now=NOW, end=NOW)) == 50


def test_the_latencys_bound_is_always_inside() -> None:
    calm = told(latency=lambda _: 0.2)
    assert panels(calm)[2].ceiling(Frame(start=START, now=NOW, end=NOW)) > 10


def test_what_took_longer_than_its_target_looks_otherwise_from_there_on() -> None:
    assert len(parts(told(), "failure", "rect")) == 2
    (late,) = parts(told(), "late", "rect")
    x = Frame(start=START, now=NOW, end=NOW + timedelta(minutes=5)).x
    assert float(late.get("x", "")) == pytest.approx(x(minute(38.5 + 1.5)), abs=1)


def test_rescales_point_to_where_they_lead_and_are_filled_for_a_restart() -> None:
    live, (restart,) = parts(told(), "live"), parts(told(), "restart")
    assert [one.get("d", "").endswith("h10l-5 -9Z") for one in live] == [True, True]
    assert restart.get("d", "").endswith("h10l-5 9Z")
    assert {"4 → 6 live", "6 → 8 live"} <= set(texts(told()))
    unknown = told(past(None, kept(minute(59), 6, 6)), rescales=[])
    assert parts(unknown, "live") == parts(unknown, "across") == []


def test_only_lanes_of_what_there_was_are_drawn() -> None:
    calm = told(past(body(recoveries={}), kept(minute(59), 6, 6)), recoveries=[], profiles=[])
    assert marks.height(calm) == 0
    assert not {"failures", "restarts", "rescales", "profiles"} & set(texts(calm))


def boxes(course: Course) -> list[tuple[str, float, float, float, float]]:
    """Where words stand, with a letter's width as it is estimated."""
    found = []
    for one in ET.fromstring(picture(course)).iter(f"{SVG}text"):
        style, words = one.get("class", "").split(), one.text or ""
        size = {"name": 20.0, "value": 22.0, "title": 12.0, "small": 10.0}
        height = next((size[name] for name in style if name in size), 11.0)
        width = svg.width_of(words, height)
        x, y = float(one.get("x", "")), float(one.get("y", ""))
        left = x - width if "end" in style else x - width / 2 if "middle" in style else x
        if words:
            found.append((words, left, left + width, y - 0.75 * height, y))
    return found


def crowded() -> Course:
    """A job with long names to which too much has happened."""
    job = body()
    job["metadata"]["name"] = "clicks-" + "of-a-very-long-name" * 2
    many = [
        {
            **AWAY[0].told,
            "began": minute(4 + 9 * number).isoformat(),
            "caughtUp": 30.0 + 40 * number,
        }
        for number in range(5)
    ]
    job["status"]["recoveries"] = {"count": 5, "past": many}
    changes = [kept(minute(3 + 5 * number), number + 1, number + 2) for number in range(10)]
    same = {name: (lambda _: 7.0) for name in ("wanted", "running", "wished", "latency")}
    return told(past(job, *changes), **same)


@pytest.mark.parametrize("course", [told(), crowded()], ids=["usual", "crowded"])
def test_no_words_stand_on_others_or_outside(course: Course) -> None:
    found = boxes(course)
    for place, (words, left, right, top, bottom) in enumerate(found):
        assert left >= 0, words
        assert right <= WIDTH, words
        for other, its_left, its_right, its_top, its_bottom in found[place + 1 :]:
            apart = right <= its_left or its_right <= left or bottom <= its_top or its_bottom <= top
            assert apart, (words, other)


@pytest.mark.parametrize(
    ("wanted", "apart"),
    [
        ([50, 90], [50, 90]),
        ([50, 50, 50], [50, 63, 76]),
        ([98, 97], [100, 87]),
        ([0, 3], [4, 17]),
    ],
)
def test_names_are_moved_apart_in_their_order(
    wanted: Sequence[float], apart: Sequence[float]
) -> None:
    assert spread(wanted, 13, 4, 100) == apart


@pytest.mark.parametrize(
    ("since", "first", "second"),
    [
        (timedelta(minutes=6), "11:54", "11:55"),
        (HOUR, "11:00", "11:10"),
        (5 * HOUR, "07:00", "08:00"),
        (timedelta(hours=30), "06:00", "12:00"),
        (timedelta(days=28), "5 Feb", "12 Feb"),
    ],
)
def test_times_are_round_and_in_utc(since: timedelta, first: str, second: str) -> None:
    ticks = list(Frame(start=NOW - since, now=NOW, end=NOW).ticks)
    assert [told for _, told in ticks][:2] == [first, second]
    assert 4 <= len(ticks) <= 10
    assert LEFT <= ticks[0][0] < ticks[-1][0] <= RIGHT


def test_the_beginning_of_a_day_is_told_by_its_date() -> None:
    ticks = Frame(start=NOW - timedelta(hours=15), now=NOW, end=NOW).ticks
    assert "1 Mar" in [told for _, told in ticks]


def test_a_larger_number_than_the_ceiling_is_at_the_ceiling() -> None:
    plot = Plot(top=10, bottom=110, ceiling=50)
    assert plot.heights([(0.0, 0.0), None, (1.0, 25.0), (2.0, 99.0)]) == [
        (0.0, 110.0),
        None,
        (1.0, 60.0),
        (2.0, 10.0),
    ]


def test_the_page_tells_each_recovery_and_each_decision_that_changed_something() -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", page(told()))
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in rows]
    assert ["2026-03-01 11:38:30", "driver lost", "61.0 s", "112.7 s", "90s", "no"] in cells
    assert ["2026-03-01 11:51:00", "rescale", "19.5 s", "31.4 s", "-", "-"] in cells
    assert sum("executors keep the bound" in row for row in rows) == 3


def test_a_page_without_recoveries_and_decisions_says_so() -> None:
    calm = told(past(body(recoveries={}), kept(minute(59), 6, 6)), recoveries=[])
    assert page(calm).count("None in this time.") == 2


def hostile() -> dict[str, Any]:
    evil = "<script>alert('1')</script>\x1b[31m & \x00"
    job = body(recoveries={"count": 1, "past": [{**AWAY[0].told, "cause": evil}]})
    job["spec"]["slo"]["window"] = evil
    return job


def test_texts_of_others_are_no_markup() -> None:
    reason = "</svg><b>bold</b>\x07"
    course = told(past(hostile(), kept(minute(5), 4, 6, reason=reason)))
    assert "<script" not in page(course)
    assert "<b>" not in page(course)
    assert ET.fromstring(picture(course)) is not None


def test_a_job_without_any_status_can_be_drawn() -> None:
    found = told(past({**body(), "status": {}}, kept(minute(59), 6, 6)), recoveries=[])
    assert Job(body()).name in texts(found)[0]


def test_what_is_left_out_is_said() -> None:
    counter: Any = {"recoveries": lambda at: 7.0 if at > 30 else 4.0, "lasting": []}
    status = {"count": 9, "past": [AWAY[2].told]}
    found = told(past(body(recoveries=status)), **counter)
    assert any("3 more recoveries are not shown" in one for one in texts(found))
