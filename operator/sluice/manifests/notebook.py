"""The ConfigMap in which a job's models and decisions outlive the operator; people read it by `kubectl sluice explain`.

data.memory     what was learned of the job, and what was wished for
data.<id>       a decision: the newest, and the last ones that changed something, with what became of these
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.core.application import StreamJob
from sluice.core.deciding.judging import Outcome, Verdict
from sluice.manifests import names

Json = dict[str, Any]

CHANGES = 10
"""Decisions that changed something, of which the last are kept."""

_MEMORY, _VERDICT = "memory", "verdict"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """What is kept, as plain data; `decisions` from the oldest to the newest, by their ids."""

    memory: Mapping[str, Any] = field(default_factory=dict)
    decisions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def with_decision(self, id: str, decision: Mapping[str, Any], *, keep: bool) -> "Notebook":
        """With the newest decision; the one before it goes, unless it was to be kept."""
        kept = {name: known for name, known in self.decisions.items() if known.get("keep")}
        last = dict(list(kept.items())[-CHANGES:])
        return Notebook(memory=self.memory, decisions={**last, id: {**decision, "keep": keep}})

    def with_verdict(self, id: str, verdict: Verdict) -> "Notebook":
        """With what became of a decision, if that is still kept."""
        if id not in self.decisions:
            return self
        told = {"outcome": str(verdict.outcome), "reason": verdict.reason}
        judged = {**self.decisions[id], _VERDICT: told}
        return Notebook(memory=self.memory, decisions={**self.decisions, id: judged})


def verdict_of(decision: Mapping[str, Any]) -> Verdict | None:
    """What became of a decision that is kept, if it was judged; what cannot be read was not."""
    told = decision.get(_VERDICT)
    if not isinstance(told, Mapping) or told.get("outcome") not in frozenset(Outcome):
        return None
    return Verdict(Outcome(told["outcome"]), str(told.get("reason", "")))


def name(job: str) -> str:
    """The name of the ConfigMap."""
    return f"{job}-scaling"


def notebook_map(job: StreamJob, notebook: Notebook) -> Json:
    """The ConfigMap to apply."""
    texts = {id: _written(decision) for id, decision in notebook.decisions.items()}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": names.owned_metadata(job, name(job.key.name)),
        "data": {_MEMORY: _written(notebook.memory), **texts},
    }


def read_notebook(body: Mapping[str, Any]) -> Notebook:
    """What a ConfigMap keeps; what cannot be read, for anybody may have written it, is left out."""
    data = {name: _read(text) for name, text in sorted((body.get("data") or {}).items())}
    known = {name: found for name, found in data.items() if found is not None}
    return Notebook(memory=known.pop(_MEMORY, {}), decisions=known)


def _written(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"))


def _read(text: object) -> Json | None:
    try:
        found = json.loads(str(text))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
