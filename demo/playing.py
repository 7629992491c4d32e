"""Play the story: look at what the product tells, and show it.

The demo itself only has the job measured, lets the operator scale it, and kills its driver.
"""

import json
import time
import urllib.parse

from demo import cluster, looks, numbers
from demo.cluster import DemoFailed
from demo.looks import Look, Promise
from demo.names import DRIVER, JOB, MANIFESTS, NAMESPACE, PROFILE
from demo.numbers import Numbers
from demo.screens import screen
from demo.story import Story, failure_is_due, scaling_is_due

LOOK_SECONDS = 3.0
"""Between two looks. The operator writes new numbers into a status at most every ten seconds; events come at once."""

SILENT_SECONDS = 60.0
"""An API server that does not answer for so long ends the story."""

_AUTO = '{"spec": {"scaling": {"mode": "Auto"}}}'

_KILL = "kill -9 $(cat /proc/1/task/1/children)"
"""All that the first process of the container, which only hands signals on, has started: the program and its JVM."""


def play(minutes: float) -> Story:
    """Show the story for so many minutes, and give it as it was at the end."""
    promise = promised()
    _measure_anew()
    began = time.monotonic()
    story = Story(promise=promise, limit=60 * minutes, looks=(look(promise, 0.0),))
    shown = screen()
    try:
        shown.show(story)
        while not story.is_over:
            time.sleep(LOOK_SECONDS)
            story = story.with_look(_patient_look(story, began))
            if scaling_is_due(story):
                story = story.with_scaling()
                cluster.kubectl("patch", "sj", JOB, "-n", NAMESPACE, "--type=merge", "-p", _AUTO)
            if failure_is_due(story):
                story = story.with_failure()
                # The command dies with the container that it runs in.
                cluster.attempt("exec", DRIVER, "-n", NAMESPACE, "--", "sh", "-c", _KILL)
            shown.show(story)
    finally:
        shown.close()
    return story


def promised() -> Promise:
    """What the StreamJob declares."""
    return looks.promised(cluster.read("streamjob", JOB))


def look(promise: Promise, at: float) -> Look:
    """Look at everything once, by two commands: each costs processor time that the job could use."""
    kinds = "streamjobs,streamprofiles,events,pods"
    objects = json.loads(cluster.kubectl("get", kinds, "-n", NAMESPACE, "-o", "json"))["items"]
    return looks.read(objects, _numbers(promise, looks.running_pod(objects, "prometheus")), at)


def _measure_anew() -> None:
    """Apply the profile; one of an earlier story is removed, and its copies with it."""
    cluster.kubectl("delete", "streamprofile", PROFILE, "-n", NAMESPACE, "--ignore-not-found")
    cluster.kubectl("apply", "-f", str(MANIFESTS / "profile.yaml"))


def _patient_look(story: Story, began: float) -> Look:
    """Look, and try again while the API server does not answer."""
    while True:
        now = time.monotonic() - began
        try:
            return look(story.promise, now)
        except DemoFailed:
            if now - story.now.at > SILENT_SECONDS:
                raise
            time.sleep(LOOK_SECONDS)


def _numbers(promise: Promise, pod: str) -> Numbers:
    """Ask Prometheus through the API server, which reaches pods on every kind of cluster.

    Not by the Service: the API server looks that up in Endpoints, which are deprecated and need not be there. A
    Prometheus that is away or does not answer tells nothing; the rest is worth showing.
    """
    if not pod:
        return Numbers()
    query = urllib.parse.urlencode({"query": numbers.question(looks.bound_of(promise))})
    path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}:9090/proxy/api/v1/query?{query}"
    answer = cluster.attempt("get", "--raw", path)
    return numbers.read(json.loads(answer)) if answer else Numbers()
