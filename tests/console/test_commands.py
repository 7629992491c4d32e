"""The commands from end to end against a cluster on the loopback: what they print, and their exit codes."""

import importlib.util
import io
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from sluice import __version__, cli
from sluice.console import queries, slo
from sluice.console.cluster import path_of
from sluice.console.doctor.examining import CRDS
from sluice.console.installation import DEPLOYMENTS
from sluice.ports import STREAM_JOBS
from tests.console import resources
from tests.console.serving import PROMETHEUS, PROXY, Answer, FakeCluster, listed, refusal

Json = dict[str, Any]


def sluice(*words: str) -> Result:
    """Run a command in a pipe, as the entry point does."""

    def run() -> None:
        raise SystemExit(cli.main(words))

    import click

    runner = CliRunner()
    return runner.invoke(click.Command("entry", callback=run), [], standalone_mode=False)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (resources.healthy(), 0),
        (resources.suspended(), 0),
        (resources.failing(), 1),
        (resources.brand_new(), 1),
    ],
)
def test_status_ends_with_whether_the_job_is_fine(
    cluster: FakeCluster, body: Json, code: int
) -> None:
    cluster.installs()
    cluster.stores(body)
    done = sluice("status", "clicks")
    assert done.exit_code == code
    assert done.stdout.startswith("shop/clicks\n")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_data_can_be_read_back(cluster: FakeCluster, form: str, read: Any) -> None:
    cluster.installs()
    cluster.stores(resources.hostile())
    done = sluice("status", "clicks", "-o", form)
    assert read(done.stdout)["status"]["conditions"][0]["reason"] == "Ünïcode"
    assert done.exit_code == 1


@pytest.mark.parametrize("words", [("status", "clicks"), ("top", "--once")])
def test_what_a_terminal_cannot_show_becomes_a_question_mark(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    cluster.installs()
    cluster.stores(resources.hostile())
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="latin-1"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert cli.main(words) == 1
    assert "Ünïcode ???".encode("latin-1") in shown.getvalue()


BATCHES = {"clicks": 812, "visits": 97}


def test_curves_and_queries_come_from_the_operators_prometheus(cluster: FakeCluster) -> None:
    cluster.installs(prometheus=PROMETHEUS)
    cluster.stores(resources.healthy())
    cluster.answers[f"{PROXY}/api/v1/query_range"] = prometheus_answer([])
    burning = slo.burn_question("shop", "clicks")
    cluster.answers[f"{PROXY}/api/v1/query?{burning}"] = prometheus_answer([series("1.5")])
    batches = [series(str(last), query=name, number="batch") for name, last in BATCHES.items()]
    each = queries.question("shop", "clicks", 0.95)
    cluster.answers[f"{PROXY}/api/v1/query?{each}"] = prometheus_answer(batches)
    done = sluice("status", "clicks")
    assert "No history: Prometheus knows nothing of this job" in done.stdout
    for name, last in BATCHES.items():
        assert re.search(rf"{name} +Running .* {last} ", done.stdout)
    assert "1.5 times as fast as allowed" in done.stdout
    asked = [query["query"] for path, query in cluster.asked if path.endswith("query_range")]
    assert any('sluice_query_backlog_rows{namespace="shop",job="clicks"}' in one for one in asked)


def test_who_may_not_read_the_deployment_still_sees_the_job(cluster: FakeCluster) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())
    cluster.answers[path_of(DEPLOYMENTS, None)] = refusal(403, "deployments is forbidden")
    done = sluice("status", "clicks")
    assert done.exit_code == 0
    assert "you may not read the operator's Deployment" in done.stdout


def test_top_ends_with_whether_all_jobs_are_fine(cluster: FakeCluster) -> None:
    cluster.installs()
    cluster.stores(resources.healthy())
    assert sluice("top", "--once").exit_code == 0
    cluster.stores(resources.failing("views"))
    done = sluice("top", "-A")
    assert done.exit_code == 1
    assert [line.split()[1] for line in done.stdout.splitlines()[1:3]] == ["views", "clicks"]


def test_top_leaves_out_copies_that_are_profiled(cluster: FakeCluster) -> None:
    copy = resources.failing()
    copy["metadata"] |= {"name": "copy", "labels": {"sluice.dev/profile": "4b1d"}}
    cluster.stores(resources.healthy(), copy)
    done = sluice("top", "--once")
    assert done.exit_code == 0
    assert "copy" not in done.stdout


def test_top_as_data_names_each_job(cluster: FakeCluster) -> None:
    cluster.installs()
    cluster.stores(resources.healthy(), resources.brand_new("views"))
    found = json.loads(sluice("top", "-o", "json").stdout)
    assert [job["name"] for job in found["jobs"]] == ["views", "clicks"]


COMMANDS = [
    "status",
    "top",
    "logs",
    "explain",
    "history",
    "report",
    "approve",
    "rescale",
    "restart",
    "pause",
    "resume",
    "doctor",
    "version",
]

LOG = "/api/v1/namespaces/shop/pods/clicks-driver/log"


def test_logs_are_those_of_the_present_driver(cluster: FakeCluster) -> None:
    cluster.stores(resources.healthy())
    cluster.answers[LOG] = Answer("first\nsecond \x1b[32mgreen\x1b[0m\n")
    done = sluice("logs", "clicks", "--tail", "2", "--since", "1m", "--timestamps")
    assert done.stdout_bytes == b"first\nsecond \x1b[32mgreen\x1b[0m\n"
    assert cluster.asked[-1] == (
        LOG,
        {"container": "driver", "timestamps": "true", "tailLines": "2", "sinceSeconds": "60"},
    )


@pytest.mark.parametrize(
    ("words", "answer", "code", "says"),
    [
        ([], refusal(404, "pods not found"), 5, "no driver runs: BackingOff"),
        ([], refusal(400, "container is waiting to start"), 1, "waiting to start"),
        (["-p"], refusal(400, "previous terminated container"), 5, "each incarnation has a pod"),
        ([], refusal(403, "pods/log is forbidden"), 4, "pods/log is forbidden"),
    ],
)
def test_without_a_log_it_is_said_why_and_what_is_kept(
    cluster: FakeCluster, words: list[str], answer: Answer, code: int, says: str
) -> None:
    cluster.stores(resources.failing())
    cluster.answers[LOG] = answer
    done = sluice("logs", "clicks", *words)
    assert done.exit_code == code
    assert says in done.stderr
    if code == 5:
        assert "Incarnation 7: [DATA_SOURCE_NOT_FOUND]" in done.stderr


def doctor_sees(cluster: FakeCluster) -> None:
    """A whole installation, in which all is well."""
    cluster.installs(prometheus=PROMETHEUS)
    cluster.stores(resources.healthy())
    names = ["job:sluice_slo_good:slice", "job:sluice_slo_burn_rate:ratio1h"]
    groups = [{"rules": [{"name": name, "health": "ok"} for name in names]}]
    cluster.answers[f"{PROXY}/api/v1/rules"] = Answer(
        {"status": "success", "data": {"groups": groups}}
    )
    cluster.answers[f"{PROXY}/api/v1/query"] = prometheus_answer([series("1")])
    now = datetime.now(UTC).timestamp()
    cluster.answers[f"{PROXY}/api/v1/query?time()"] = prometheus_answer([now, str(now)])


def test_the_doctor_examines_every_part_and_says_how_to_mend(cluster: FakeCluster) -> None:
    doctor_sees(cluster)
    done = sluice("doctor")
    assert re.findall(r"^[A-Z]+$", done.stdout, re.MULTILINE) == [
        *("CLUSTER", "INSTALLATION", "RIGHTS", "JOBS", "METRICS")
    ]
    for name in ("streamjobs", "streamprofiles"):
        assert f"CRD               ok    {name}.sluice.dev v1alpha1" in done.stdout
    assert re.search(r"Leader +ok +sluice-0 renewed", done.stdout)
    assert re.search(r"Rights +ok +ops/sluice may do all 45 things", done.stdout)
    assert re.search(r"Rules +ok ", done.stdout)
    assert re.search(r"Agents +warn +1 are not 0\.1\.0: shop/clicks", done.stdout)
    assert "->    They change with the next start" in done.stdout
    assert done.exit_code == 0


def test_the_doctor_ends_with_whether_anything_failed(cluster: FakeCluster) -> None:
    doctor_sees(cluster)
    told = json.loads(sluice("doctor", "-o", "json").stdout)
    verdicts = {one["subject"]: one["verdict"] for one in told["checks"]}
    assert verdicts["CRD"] == "ok"
    assert verdicts["Operator"] == "ok"
    cluster.answers[path_of(DEPLOYMENTS, None)] = Answer(listed())
    cluster.answers[path_of(CRDS, None, "streamprofiles.sluice.dev")] = refusal(404, "no such CRD")
    done = sluice("doctor")
    assert done.exit_code == 1
    assert re.search(r"CRD +FAIL +streamprofiles.sluice.dev is not installed", done.stdout)
    assert "no Deployment of the chart was found" in done.stdout


def test_the_doctor_skips_what_the_person_may_not_ask(cluster: FakeCluster) -> None:
    forbidden = refusal(403, "that is forbidden")
    cluster.installs()
    cluster.stores(resources.healthy())
    for path in [path for path in cluster.answers if path.startswith("/apis/")]:
        if "selfsubject" not in path:
            cluster.answers[path] = forbidden
    cluster.answers[path_of(STREAM_JOBS, None)] = forbidden
    done = sluice("doctor", "-o", "json")
    verdicts = {one["subject"]: one["verdict"] for one in json.loads(done.stdout)["checks"]}
    assert verdicts["CRD"] == verdicts["Operator"] == "skip"
    assert verdicts["Jobs"] == "ok"
    assert done.exit_code == 0


def test_of_one_namespaces_operators_the_doctor_does_not_conclude_whose_a_job_is(
    cluster: FakeCluster,
) -> None:
    cluster.installs()
    elsewhere = resources.brand_new()
    elsewhere["metadata"]["namespace"] = "billing"
    cluster.stores(elsewhere)
    nobodys = "no operator looks after the namespace billing"
    assert nobodys in sluice("doctor").stdout
    cluster.answers[path_of(DEPLOYMENTS, "ops")] = cluster.answers[path_of(DEPLOYMENTS, None)]
    done = sluice("doctor", "--operator-namespace", "ops")
    assert "it looks after shop" in done.stdout
    assert nobodys not in done.stdout


def test_each_operators_prometheus_is_asked_about_the_jobs_that_it_looks_after(
    cluster: FakeCluster,
) -> None:
    doctor_sees(cluster)
    cluster.installs(prometheus=PROMETHEUS, billing="http://its.billing.svc:9090")
    elsewhere = resources.healthy()
    elsewhere["metadata"] |= {"namespace": "billing", "name": "invoices", "uid": "another"}
    cluster.stores(elsewhere)
    its = "/api/v1/namespaces/billing/services/its:9090/proxy"
    for path, answer in list(cluster.answers.items()):
        if path.startswith(PROXY):
            cluster.answers[path.replace(PROXY, its)] = answer
    told = re.findall(r"Drivers scraped +(.*)", sluice("doctor").stdout)
    assert told[0].split() == ["ok", "all", "1", "that", "run"]
    assert re.match(r"FAIL +1 of 1 are not: billing/invoices", told[1])


def test_of_two_operators_that_which_has_no_prometheus_is_named(cluster: FakeCluster) -> None:
    doctor_sees(cluster)
    cluster.installs(prometheus=PROMETHEUS, billing="")
    told = re.findall(r"Prometheus +(ok|warn) +(.*)", sluice("doctor").stdout)
    assert [verdict for verdict, _ in told] == ["ok", "warn"]
    assert "the operator ops/sluice was given no Prometheus" in told[1][1]


def test_a_prometheus_that_is_down_fails_the_examination(cluster: FakeCluster) -> None:
    doctor_sees(cluster)
    cluster.answers[f"{PROXY}/api/v1/query?time()"] = refusal(503, "no endpoints available")
    done = sluice("doctor")
    assert done.exit_code == 1
    assert re.search(r"Prometheus +FAIL +.*no endpoints available", done.stdout)


def test_version_tells_what_works_together(cluster: FakeCluster) -> None:
    cluster.installs()
    told = json.loads(sluice("version", "-o", "json").stdout)
    assert told["command"] == __version__
    assert told["kubernetes"] == "v1.34.4"
    assert told["operators"][0]["namespace"] == "ops"
    assert sluice("version", "--client").stdout == f"sluice {__version__}\n"
    assert json.loads(sluice("version", "--client", "-o", "json").stdout) == {
        "command": __version__
    }


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["status", "nothing"], 5, "There are: clicks"),
        (["status", "clicks", "-n", "test"], 5, "add -n shop"),
        (["status", "clicks/status"], 5, "Did you mean clicks?"),
        (["pause", "clicks/status"], 5, "Did you mean clicks?"),
        (["status", ""], 5, "no StreamJob '' in namespace 'shop'"),
        (["status", "clicks", "-n", "shop/clicks"], 2, "'shop/clicks' is no name of a namespace"),
        (["top", "-n", "Shop"], 2, "'Shop' is no name of a namespace"),
        (["status", "clicks", "--context", "nowhere"], 3, "nowhere"),
        (["status", "clicks", "--kubeconfig", "/missing"], 3, "no cluster to ask"),
        (["status"], 2, "Missing argument 'JOB'. `sluice top` shows all jobs"),
        (["status", "clicks", "--since", "soon"], 2, "'soon' is not a duration"),
        (["status", "clicks", "--since", "1s"], 2, "5m is the least"),
        (["status", "clicks", "--since", "999999d"], 2, "'999999d' is too long; 366d is the most"),
        (["logs", "clicks", "--tail", "-1"], 2, "-1 is not in the range"),
        (["doctor", "-o", "xml"], 2, "'xml' is not one of"),
        (["fly"], 2, "No such command 'fly'"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code_and_what_to_do(
    cluster: FakeCluster, words: list[str], code: int, says: str
) -> None:
    cluster.stores(resources.healthy())
    # The API server takes the path of a job without a name for that of all.
    cluster.answers[f"{path_of(STREAM_JOBS, 'shop')}/"] = Answer(listed(resources.healthy()))
    done = sluice(*words)
    assert done.exit_code == code
    assert says in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("words", [["status", "clicks"], ["top"], ["logs", "clicks"], ["doctor"]])
def test_without_the_extra_it_is_said_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    done = sluice(*words)
    assert done.exit_code == 2
    assert "in a checkout of Sluice: pip install '.[cli]'" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_the_exit_codes_mean(command: str) -> None:
    told = sluice(command, "--help").stdout
    assert "3  the cluster cannot be reached" in told
    assert "--namespace" in told


def prometheus_answer(result: Any) -> Answer:
    """An answer to a query."""
    return Answer({"status": "success", "data": {"result": result}})


def series(value: str, **labels: str) -> Json:
    """A series with one sample."""
    return {"metric": {"namespace": "shop", "job": "clicks", **labels}, "value": [1.0, value]}
