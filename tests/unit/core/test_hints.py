"""What is added to failures that many people meet."""

import pytest

from sluice.core.hints import remedy
from tests.support.jobs import job

KAFKA = [{"kafka": {"bootstrapServers": ["broker:9092"], "topics": ["clicks"]}}]


@pytest.mark.parametrize(
    ("told", "parts"),
    [
        ("can't open file '/opt/clicks.py'", ["spec.application.mainFile", "/opt/clicks.py"]),
        ("UnknownTopicOrPartitionException: ...", ["spec.sources", "clicks", "create it"]),
        ("Failed to create new KafkaAdminClient", ["spec.sources", "broker:9092"]),
        (
            "ErrImagePull: not found",
            ["spec.application.image", "shop/clicks:1", "imagePullSecrets"],
        ),
        (
            'persistentvolumeclaim "checkpoints" not found',
            ["spec.checkpoint.claim", "'checkpoints'", "'shop'"],
        ),
        (
            "0/2 nodes: 2 Insufficient memory.",
            ["spec.application.driver", "1024 MiB", "add a node"],
        ),
        ("ModuleNotFoundError: No module named 'x'", ["pythonPath"]),
    ],
)
def test_a_known_failure_is_told_with_the_field_the_value_and_the_remedy(
    told: str, parts: list[str]
) -> None:
    advice = remedy(job(sources=KAFKA), told)
    assert advice.startswith(" ")
    for part in parts:
        assert part in advice


def test_an_unknown_failure_is_left_as_it_is() -> None:
    assert remedy(job(), "java.lang.IllegalStateException: 42") == ""
