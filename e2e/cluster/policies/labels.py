"""Which labels a selector means: `matchLabels` and `matchExpressions` of the Kubernetes API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What one label must be like: In or NotIn some values, or that it Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> bool:
        """Tell whether labels are like this; a missing label is NotIn anything."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
        raise ValueError(
            f"Selectors have no operator {self.operator!r} (of label {self.key}): "
            "use In, NotIn, Exists or DoesNotExist"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """All requirements together; without any, everything is meant."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Tell whether an object with these labels is meant."""
        return all(requirement.holds(labels) for requirement in self.requirements)


def read_selector(selector: Mapping[str, Any]) -> Selector:
    """Read a LabelSelector as the API gives it."""
    equal = [
        Requirement(key=key, operator="In", values=(value,))
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    expressions = [
        Requirement(
            key=each["key"],
            operator=each["operator"],
            values=tuple(each.get("values") or ()),
        )
        for each in selector.get("matchExpressions") or ()
    ]
    return Selector(requirements=(*equal, *expressions))
