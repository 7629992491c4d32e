"""The file of all runs, `bench/results/NAME.json`, and its page; a run is kept as soon as it is there.

Runs of another scene are no comparison: they are refused, and never mixed with those that are there.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench import report
from bench.closed_loop import measurements, page, simulating
from bench.closed_loop.calibrating import calibrated
from bench.closed_loop.measurements import Measurement
from bench.closed_loop.page import Pair
from bench.closed_loop.scene import Scene
from bench.closed_loop.simulating import Entry
from bench.progress import BenchmarkFailed
from sluice.core.series import NoData
from sluice.core.simulation.plant import Plant

NAME = "closed-loop"

_REMEDY = "move it away, or take another name with --save-as"

_METHOD = """\
One Spark job (each row waits as for the answer of another service) on the local cluster, scaled in four ways, one
run each under the same load and failures. The same job in the lab stands in brackets, with its difference: its
plant is calibrated from all runs of this table, and what is told of the lab is the middle of {seeds} seeds.
`static` has {largest} executors all the time. `hpa` is a HorizontalPodAutoscaler on the scale subresource by the
CPU of the executors, which the local cluster looks at every 5 s; {aim}. New executors compile their code, which
takes several times the CPU of the rows. `phoebe` and `sluice` are policies of the operator and begin with a profile,
whose copies count as executors.

Time above the bound is the share of windows of 10 s in which less than {share:.0%} of the committed rows were within
it, or in which nothing was committed for longer than that. A recovery lasts from the failure to the first moment
after a commit from which on, for 10 s, no more rows waited than usual and rows were in time, each sample at the
moment of which it tells. What was predicted is what the operator's models had learned by then; of `static` and `hpa`
it observes only. Spark's Kafka sink writes the batch in flight again after a failure: such rows are written twice,
and none may be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A scene, the machine, and the newest run of each contender in it."""

    scene: Scene
    runs: Mapping[str, Measurement]
    machine: Mapping[str, Any]

    def with_run(self, measured: Measurement) -> "Kept":
        """With another run of its contender instead of the former one."""
        return replace(self, runs={**self.runs, measured.contender: measured})


def path(name: str) -> Path:
    """Where runs are kept."""
    return report.RESULTS / f"{name}.json"


def read(file: Path, scene: Scene) -> Kept:
    """The runs of a file, none if there is no file. Raises BenchmarkFailed for one that cannot be used."""
    if not file.exists():
        return Kept(scene=scene, runs={}, machine=report.machine())
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        former, _ = stored["scene"], stored["machine"]["cores"]
        runs = {
            name: measurements.from_data(stored_run) for name, stored_run in stored["runs"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchmarkFailed(
            f"{file} cannot be read as closed-loop runs ({error!r}); {_REMEDY}"
        ) from error
    differences = _differences(former, scene.to_data())
    if differences:
        raise BenchmarkFailed(f"{file} has runs of another scene ({differences}); {_REMEDY}")
    return Kept(scene=scene, runs=runs, machine=stored["machine"])


def refuse_another_machine(kept: Kept, file: Path) -> None:
    """Raise BenchmarkFailed if the runs that there are were not made on this machine."""
    here = report.machine()
    names = [name for name in ("cpu", "cores") if kept.machine.get(name) != here[name]]
    if names:
        told = ", ".join(
            f"{name} {kept.machine.get(name)} there and {here[name]} here" for name in names
        )
        raise BenchmarkFailed(f"{file} has runs of another machine ({told}); {_REMEDY}")


def _differences(former: Mapping[str, Any], present: Mapping[str, Any]) -> str:
    names = [name for name in {**former, **present} if former.get(name) != present.get(name)]
    return ", ".join(
        f"{name} is {former.get(name)} there and {present.get(name)} here" for name in names
    )


def write(kept: Kept, file: Path) -> Path:
    """Write all runs and their page; the path of the page."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # An hour's work must not be lost by what goes wrong in a simulation.
    _store(_record(kept, NoData("not yet"), {}), file)
    runs = {name: replace(run, course=run.course.in_time) for name, run in kept.runs.items()}
    plant = calibrated(kept.scene, list(runs.values()))
    pairs = {name: _pair(kept, run, plant) for name, run in runs.items()}
    _store(_record(kept, plant, pairs), file)
    shown = file.with_suffix(".md")
    shown.write_text(_page(kept, plant, pairs), encoding="utf-8")
    return shown


def _store(record: Mapping[str, Any], file: Path) -> None:
    file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _pair(kept: Kept, run: Measurement, plant: Plant | NoData) -> Pair:
    scene = kept.scene
    found = measurements.figures_of(run, scene)
    if isinstance(plant, NoData):
        return Pair(measured=run, found=found, lab=None)
    entry = Entry(
        contender=run.contender,
        struck=run.struck,
        profile=run.profile,
    )
    return Pair(measured=run, found=found, lab=simulating.predicted(scene, plant, entry))


def _record(kept: Kept, plant: Plant | NoData, pairs: Mapping[str, Pair]) -> dict[str, Any]:
    return {
        "benchmark": NAME,
        "scene": kept.scene.to_data(),
        "machine": dict(kept.machine),
        "plant": None if isinstance(plant, NoData) else asdict(plant),
        "figures": {
            name: {
                "measured": asdict(pair.found),
                "lab": None if pair.lab is None else asdict(pair.lab),
            }
            for name, pair in pairs.items()
        },
        "runs": {name: measurements.to_data(run) for name, run in kept.runs.items()},
    }


def _page(kept: Kept, plant: Plant | NoData, pairs: Mapping[str, Pair]) -> str:
    scene = kept.scene
    why = plant.reason if isinstance(plant, NoData) else ""
    notes = page.notes(scene, pairs, None if isinstance(plant, NoData) else plant, why)
    method = _METHOD.format(
        seeds=len(simulating.SEEDS), largest=scene.largest, share=scene.share, aim=_aim(kept)
    )
    return (
        f"# The closed loop, on a cluster and in the lab\n\n{method}\n\n{page.table(scene, pairs)}\n\n{notes}\n\n"
        f"Load: {scene.trace} (lowest, highest and period) for {scene.minutes:g} min; {_strikes(scene)}. "
        f"Settings: {_settings(scene)}.\n\n{_taken(kept)}\n"
    )


def _aim(kept: Kept) -> str:
    run = kept.runs.get("hpa")
    if run is None or run.aim is None or run.saturated is None:
        return f"it aims at {kept.scene.utilisation:.0%} of the CPU that an executor with a backlog takes"
    return (
        f"it aims at {run.aim:.0f} millicores, {kept.scene.utilisation:.0%} of the {run.saturated:.0f} "
        "that an executor with a backlog was measured to take"
    )


def _strikes(scene: Scene) -> str:
    return ", ".join(f"{strike.fault} at {strike.at:.0f} s" for strike in scene.strikes)


def _settings(scene: Scene) -> str:
    left_out = ("minutes", "cycles", "lowest", "highest", "strikes")
    told = {name: value for name, value in scene.to_data().items() if name not in left_out}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in told.items())


def _taken(kept: Kept) -> str:
    host = kept.machine
    runs = "; ".join(
        f"{name} {run.taken} with {', '.join(f'{one} {version}' for one, version in run.versions.items())}"
        for name, run in kept.runs.items()
    )
    return f"Taken on {host['cpu']}, {host['cores']} cores, Linux {host['kernel']}: {runs or 'nothing yet'}."
