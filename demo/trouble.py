"""What a person would look at first when a step has failed: events, and the last lines of the logs."""

from demo import cluster
from demo.names import DRIVER, NAMESPACE, OPERATOR_NAMESPACE, RELEASE

WIDTH = 100

_EVENT = "custom-columns=TYPE:.type,REASON:.reason,OBJECT:.involvedObject.name,MESSAGE:.message"

LOOKS = (
    (6, ("get", "pods", "-n", NAMESPACE)),
    (8, ("get", "events", "-n", NAMESPACE, "--sort-by=.metadata.creationTimestamp", "-o", _EVENT)),
    (10, ("logs", DRIVER, "-n", NAMESPACE, "--tail=10")),
    (8, ("logs", f"deployment/{RELEASE}", "-n", OPERATOR_NAMESPACE, "--tail=8")),
)


def evidence() -> str:
    """The last lines of each look, under the command that gave them; looks that find nothing are left out."""
    return "\n".join(filter(None, (_look(lines, words) for lines, words in LOOKS)))


def _look(lines: int, words: tuple[str, ...]) -> str:
    found = cluster.attempt(*words).splitlines()[-lines:]
    if not found:
        return ""
    cut = "\n".join(f"  {line[: WIDTH - 2]}" for line in found)
    return f"\nkubectl {' '.join(word for word in words if word != _EVENT)}\n{cut}"
