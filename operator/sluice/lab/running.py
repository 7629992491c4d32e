"""Many runs on all processors, with progress; the first mistake of a run ends them all, and says which run it was."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sluice.lab.cases import Case, Json, carry_out


def carried_out(cases: Sequence[Case], processes: int, console: Console) -> list[Json]:
    """Do all runs, in any order, and give what came of them in the order of the cases."""
    outcomes: dict[int, Json] = {}
    with _progress(console) as progress:
        task = progress.add_task("", total=len(cases))
        for place, outcome in _each(cases, processes):
            outcomes[place] = outcome
            told = f"{outcome['policy']} on {outcome['plant']}, {outcome['trace']}"
            progress.update(task, advance=1, description=told)
            if not console.is_terminal:
                elapsed = progress.tasks[0].elapsed or 0.0
                console.print(f"{len(outcomes)} of {len(cases)} after {elapsed:.0f} s: {told}")
    return [outcomes[place] for place in range(len(cases))]


def _each(cases: Sequence[Case], processes: int) -> Iterator[tuple[int, Json]]:
    if processes == 1:
        yield from enumerate(map(carry_out, cases))
        return
    pool = _pool(processes)
    try:
        places = {pool.submit(carry_out, case): place for place, case in enumerate(cases)}
        for done in as_completed(places):
            yield places[done], _result(done, cases[places[done]])
    finally:
        pool.shutdown(cancel_futures=True)


def _pool(processes: int) -> ProcessPoolExecutor:
    """Processes of their own: forking one that has threads, as the progress bar has, may hang."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=_begin,
        initargs=(signal.SIG_IGN if is_ignored else signal.SIG_DFL,),
    )


def _begin(answer: signal.Handlers) -> None:
    """What each of them does first.

    Ctrl-C, which a terminal sends to all of them, ends them: by default they would give up one run and begin the next.
    In the background of a script the lab ignores it, and so do they. When the lab is ended by another signal, nobody
    would tell them, and they would wait for a next run for ever.
    """
    signal.signal(signal.SIGINT, answer)
    threading.Thread(target=_end_with_the_lab, daemon=True).start()


def _end_with_the_lab() -> None:
    lab = parent_process()
    if lab is not None:
        lab.join()
        os._exit(1)


def _result(done: "Future[Json]", case: Case) -> Json:
    error = done.exception()
    if error is not None:
        error.add_note(f"in the run of {case.policy} on {case.plant.name} under {case.source.name}")
        raise error
    return done.result()


@contextmanager
def _progress(console: Console) -> Iterator[Progress]:
    columns = (
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield progress


def all_processors() -> int:
    """How many processes can work at once."""
    # macOS does not tell which processors a process may use.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
