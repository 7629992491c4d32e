"""Kill the operator at each step of what it does, as soon as the step shows, and see another one go on.

It is a SIGKILL: the Lease is not given up, and nothing that was begun is brought to an end. Then its pod is deleted,
for a container that is killed again and again is started after ever longer pauses.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch
from urllib3.exceptions import HTTPError

from bench import processes
from bench.processes import Processes
from e2e.support.api import Cluster, Json
from e2e.support.steps import Course, Event, Kill, Shown, Sight, Step, awaited, table

AGAIN = 0.2
"""Seconds until a watch that has ended is begun again."""

Events = queue.SimpleQueue[Event | None]
"""None says that one kind is not followed any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """The pod of the operator that leads, and its processes, so that nothing is left to be looked for at a step."""

    name: str
    uid: str
    processes: Processes


class Killer:
    """Follows events of the cluster, and kills the operator whose namespace is `home`."""

    def __init__(self, cluster: Cluster, home: str, events: Events) -> None:
        self._cluster = cluster
        self._home = home
        self._events = events
        self._began = time.monotonic()
        self._leader: Leader | None = None
        self._killed: set[str] = set()
        self._missed: list[str] = []
        self.sight = Sight()
        self.kills: list[Kill] = []

    def kill_at(
        self,
        steps: Sequence[Step],
        *,
        seconds: float,
        never: Callable[[Sight], object] = lambda _: None,
    ) -> None:
        """Kill the operator when each of these steps shows first, or as soon as one leads again.

        Fails with the steps that have not shown after so many seconds, and with what `never` finds.
        """
        lacking, shown, until = list(steps), list[Shown](), self._now() + seconds
        while shown or awaited(lacking):
            if self._now() > until:
                raise AssertionError(self._told_of_lack(lacking, shown, seconds))
            self._follow()
            reached = [step for step in lacking if step.is_reached(self.sight)]
            lacking = [step for step in lacking if step not in reached]
            shown += [Shown(name=step.name, at=self._now()) for step in reached]
            if shown and self._leader is not None:
                self._kill(self._leader, shown)
                shown = []
            if found := never(self.sight):
                raise AssertionError(f"{self._told_of_lack(lacking, shown, seconds)}; but: {found}")
        self._missed += [step.name for step in lacking]

    def wait_until_led(self, *, seconds: float = 120) -> None:
        """Another operator leads."""
        until = self._now() + seconds
        while self._leader is None:
            assert self._now() < until, f"after {seconds:g} s: no operator leads"
            self._follow()

    def table(self) -> str:
        """All steps so far, and what became of the operator at them."""
        return table(self.kills, self._missed)

    def course(self, account: Json) -> Course:
        """The same, with what the job's records came to by the checker's account."""
        return Course(kills=self.kills, missed=self._missed, account=account)

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _follow(self) -> None:
        """Take in the next event, if there is one before long."""
        try:
            event = self._events.get(timeout=1.0)
        except queue.Empty:
            return
        assert event is not None, "a watch has ended"
        self.sight = self.sight.after(event)
        pod = self.sight.leader(self._home)
        uid = pod["metadata"]["uid"] if pod else ""
        if not uid or uid in self._killed:
            self._leader = None
        elif self._leader is None or self._leader.uid != uid:
            self._leader = Leader(
                name=pod["metadata"]["name"], uid=uid, processes=processes.of_pod(uid)
            )
            if self.kills and self.kills[-1].led is None:
                self.kills[-1] = replace(self.kills[-1], led=self._now())

    def _kill(self, leader: Leader, shown: Sequence[Shown]) -> None:
        assert leader.processes.ids, f"no process of the pod {leader.name} is to be seen from here"
        leader.processes.kill()
        kill = Kill(steps=tuple(shown), at=self._now())
        self._cluster.delete("Pod", self._home, leader.name, grace=0)
        self._killed.add(leader.uid)
        self._leader = None
        self.kills.append(kill)
        print(kill, flush=True)

    def _told_of_lack(self, lacking: Sequence[Step], shown: Sequence[Shown], seconds: float) -> str:
        names = ", ".join(awaited(lacking)) or "none"
        waiting = ", ".join(step.name for step in shown) or "none"
        return f"within {seconds:g} s: steps not seen: {names}; steps at which no operator led: {waiting}"


@contextmanager
def killing(cluster: Cluster, home: str, *watched: tuple[str, str]) -> Iterator[Killer]:
    """A killer that follows these kinds in these namespaces, for the length of a block; its table comes at the end."""
    with _following(cluster, ("Lease", home), ("Pod", home), *watched) as events:
        killer = Killer(cluster, home, events)
        killer.wait_until_led()
        try:
            yield killer
        finally:
            print(f"\n{killer.table()}", flush=True)


@contextmanager
def _following(cluster: Cluster, *watched: tuple[str, str]) -> Iterator[Events]:
    """All that happens to objects of these kinds and namespaces, for the length of a block."""
    events, is_over = Events(), threading.Event()
    watches = [_Follower(cluster, kind, place, events, is_over) for kind, place in watched]
    for one in watches:
        one.start()
    try:
        yield events
    finally:
        is_over.set()
        for one in watches:
            one.end()


class _Follower:
    """One watch, in a thread of its own."""

    def __init__(
        self,
        cluster: Cluster,
        kind: str,
        namespace: str,
        events: Events,
        is_over: threading.Event,
    ) -> None:
        self._cluster = cluster
        self._kind = kind
        self._namespace = namespace
        self._events = events
        self._is_over = is_over
        self._watch = Watch()

    def start(self) -> None:
        """Tell what is there, and begin to follow it."""
        listed = self._cluster.listed(self._kind, self._namespace)
        for body in listed["items"]:
            self._events.put(Event(kind=self._kind, body=body))
        version = listed["metadata"]["resourceVersion"]
        self._thread = threading.Thread(target=self._run, args=(version,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Follow no more."""
        self._watch.stop()
        self._thread.join(timeout=5)

    def _run(self, version: str) -> None:
        try:
            while not self._is_over.is_set():
                self._follow(version)
                version = ""
        finally:
            self._events.put(None)

    def _follow(self, version: str) -> None:
        try:
            for what, body in self._changes(version):
                self._events.put(Event(kind=self._kind, body=body, is_gone=what == "DELETED"))
        except (ApiException, HTTPError):
            self._is_over.wait(AGAIN)

    def _changes(self, version: str) -> Iterator[tuple[str, Json]]:
        return self._cluster.watch(self._kind, self._namespace, self._watch, version=version)
