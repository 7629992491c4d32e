"""The ConfigMap in which a job's models and decisions outlive the operator; people read it by `kubectl sluice explain`.

data.memory     what was learned of the job, and what was wished for
data.<id>       a decision: the newest, and the last ones that changed something
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sluice.core.application import StreamJob
from sluice.manifests import names

Json = dict[str, Any]

CHANGES = 10
"""Decisions that changed something, of which the last are kept."""

_MEMORY = "memory"


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
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
