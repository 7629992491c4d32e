"""Kept decisions as people read them: why so many executors, and what was decided lately."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
import yaml

from sluice import cli
from sluice.core.deciding.guards import Settings
from sluice.core.deciding.harms import Harm
from sluice.core.deciding.policies.sluice import Sluice
from sluice.core.deciding.situation import Mode
from sluice.core.deciding.storing import Record
from sluice.ports import CONFIG_MAPS
from tests.console import notebooks, resources
from tests.console.serving import FakeCluster
from tests.console.test_commands import sluice
from tests.support.jobs import NOW, job


def words(text: str) -> list[str]:
    """The lines, with one blank between two words."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_newest_decision_is_explained_from_its_own_situation(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster)
    done = sluice("explain", "clicks")
    assert done.exit_code == 0
    told = words(done.stdout)
    assert told[0] == f"shop/clicks, decision {notebooks.STAYED}"
    assert "Executors 14 asked for, 14 running, 2 to 24 allowed" in told
    assert "State Steady, mode Observe, up 24h00m" in told
    assert "Load 100.0k/s arriving, 100.0k/s processed" in told
    assert any(line.startswith("Forecast at most 100.0k/s, 105.0k/s at the") for line in told)
    assert "Outcome stay at 14 executors" in told


def test_each_candidate_is_told_with_what_speaks_against_it(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster)
    told = words(sluice("explain", "clicks", "--decision", notebooks.GREW).stdout)
    decided = Record(
        situation=notebooks.situation(NOW, 2), policy=Sluice(), settings=Settings()
    ).decided()
    assert f"Outcome from 2 to {decided.executors} executors, live" in told
    assert f"Because {decided.reason}" in told
    table = told[told.index("EXECUTORS ROWS/S LATENCY RECOVERY VERDICT") + 1 :]
    assert len(table) == len(decided.candidates)
    for line, candidate in zip(table, decided.candidates, strict=True):
        mark = f"{candidate.executors} <-" if candidate.chosen else str(candidate.executors)
        assert line.startswith(f"{mark} ")
        assert line.endswith(candidate.verdict)


def test_another_policy_decides_in_the_same_situation(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster)
    done = sluice("explain", "clicks", "--decision", notebooks.GREW, "--policy", "hpa:target=0.5")
    told = words(done.stdout)
    assert "Policy hpa:target=0.5" in told
    assert "Instead of sluice" in told
    assert "Outcome from 2 to 4 executors, live" in told


def test_data_has_the_decision_and_what_the_lab_can_make_it_from(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebooks.keeps(cluster)
    data = json.loads(sluice("explain", "clicks", "-o", "json").stdout)
    assert data["id"] == notebooks.STAYED
    assert data["decision"]["executors"] == 14
    assert 14 in [one["executors"] for one in data["candidates"]]
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(data["record"])))
    assert cli.main(["lab", "explain", "-"]) == 0
    assert capsys.readouterr().out.startswith(f"stay at 14 executors: {data['decision']['reason']}")


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        (["--decision", "yesterday"], 5, f"There are: {notebooks.GREW}, {notebooks.STAYED}, old"),
        (["--decision", "old"], 1, "version 99"),
        (["--policy", "magic"], 2, "choose one of sluice, phoebe"),
        (["--policy", "hpa:goal=1"], 2, "choose one of target, tolerance"),
        (["--policy", "hpa:target=much"], 2, "write a number that is positive"),
        (["--policy", "hpa:target=0"], 2, "'0': write a number that is positive"),
        (["--policy", "hpa:tolerance=-1"], 2, "write a number that is not negative"),
        (["--policy", "phoebe:bins=0"], 2, "write a whole number that is positive"),
        (["--policy", "static:executors=1.5"], 2, "write a whole number that is not negative"),
        (
            ["--policy", "sluice:downtime_share=1"],
            2,
            "'1': write a number that is positive, and less than 1",
        ),
    ],
)
def test_what_cannot_be_explained_is_refused_with_what_can(
    cluster: FakeCluster, asked: list[str], code: int, says: str
) -> None:
    notebooks.keeps(cluster, old={"kind": "Decision", "version": 99})
    done = sluice("explain", "clicks", *asked)
    assert done.exit_code == code
    assert says in done.stderr


@pytest.mark.parametrize(
    ("mode", "says"), [("Off", "Set it to Observe"), ("Auto", "The condition ScalingActive says")]
)
def test_where_nothing_was_decided_it_is_said_why(
    cluster: FakeCluster, mode: str, says: str
) -> None:
    cluster.stores(resources.scaled(mode=mode))
    done = sluice("explain", "clicks")
    assert done.exit_code == 5
    assert says in done.stderr
    past = sluice("history", "clicks")
    assert past.exit_code == 0
    assert says in past.stdout


def test_a_former_job_of_the_same_name_has_another_past(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster)
    cluster.objects.put(CONFIG_MAPS, notebooks.notebook({}, of=job(uid="another")))
    assert sluice("explain", "clicks").exit_code == 5


def test_the_history_tells_decisions_and_recoveries_with_the_newest_last(
    cluster: FakeCluster,
) -> None:
    notebooks.keeps(cluster)
    told = words(sluice("history", "clicks").stdout)
    rows = [line for line in told if line.startswith("2026")]
    assert [line.split()[0] for line in rows] == [notebooks.GREW, notebooks.STAYED]
    grown = notebooks.GREW_TO
    assert f" 2 -> {grown} Live - - {grown} executors, because" in rows[0]
    assert " 14 - - - " in rows[1]
    assert told[-1].endswith(
        "DriverLoss 3 seen 400ms, container 3.1s, session 9.8s, first batch 24s, caught up 61s"
    )


def test_what_kept_a_decision_from_being_done_is_in_its_line(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster)
    watched = notebooks.decision(NOW, 2, mode=Mode.OBSERVE)
    cluster.objects.put(CONFIG_MAPS, notebooks.notebook({"20260301T120000Z": watched}))
    told = words(sluice("history", "clicks").stdout)
    (row,) = (line for line in told if line.startswith("20260301T120000Z"))
    assert f" 2 - mode - {notebooks.GREW_TO} executors, because" in row


JUDGED = {
    "outcome": "Harmful",
    "reason": f"with {notebooks.GREW_TO} executors instead of 2 the latency is 14.2 s",
}


def judged() -> dict[str, Any]:
    """The decision that made the job grow, after it was judged."""
    grown = notebooks.decision(NOW - timedelta(hours=1), 2)
    return {notebooks.GREW: {**grown, "keep": True, "verdict": JUDGED}}


def test_what_became_of_a_rescale_is_told(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster, **judged())
    rows = words(sluice("history", "clicks").stdout)
    harmful = f" Live - Harmful {notebooks.GREW_TO} exe"
    assert any(row.startswith(notebooks.GREW) and harmful in row for row in rows)
    told = words(sluice("explain", "clicks", "--decision", notebooks.GREW).stdout)
    assert f"Effect Harmful: {JUDGED['reason']}" in told
    other = sluice("explain", "clicks", "--decision", notebooks.GREW, "--policy", "static").stdout
    assert "Effect" not in other


@pytest.mark.parametrize("command", ["history", "explain"])
def test_what_became_of_a_rescale_can_be_read_back(cluster: FakeCluster, command: str) -> None:
    notebooks.keeps(cluster, **judged())
    more = () if command == "history" else ("--decision", notebooks.GREW)
    data = json.loads(sluice(command, "clicks", *more, "-o", "json").stdout)
    told = data if command == "explain" else data["decisions"][0]
    assert told["effect"] == JUDGED


def test_harm_that_was_known_is_part_of_the_situation(cluster: FakeCluster) -> None:
    harm = Harm(
        at=NOW.timestamp() - 60,
        decision="20260301T105000Z",
        before=14,
        executors=10,
        arrival=95_000.0,
        reason="the latency is 14.2 s",
        undone=True,
    )
    after = notebooks.decision(NOW, 14, harms=(harm,))
    notebooks.keeps(cluster, **{"20260301T120000Z": after})
    told = words(sluice("explain", "clicks", "--decision", "20260301T120000Z").stdout)
    assert "Harmful 14 -> 10 at 95.0k/s, decision 20260301T105000Z" in told


def test_what_cannot_be_read_hides_nothing_else(cluster: FakeCluster) -> None:
    notebooks.keeps(cluster, old={"kind": "Decision", "version": 99})
    told = words(sluice("history", "clicks").stdout)
    assert any(line.startswith("old cannot be read: ") and "version 99" in line for line in told)
    assert any(line.startswith(notebooks.STAYED) for line in told)


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_the_history_can_be_read_back(cluster: FakeCluster, form: str, read: Any) -> None:
    notebooks.keeps(cluster, old={"kind": "Decision", "version": 99})
    data = read(sluice("history", "clicks", "-o", form).stdout)
    assert [one["id"] for one in data["decisions"]] == [notebooks.GREW, notebooks.STAYED, "old"]
    grew = data["decisions"][0]
    assert (grew["from"], grew["executors"]) == (2, notebooks.GREW_TO)
    assert data["recoveries"][0]["caughtUp"] == 61.0
