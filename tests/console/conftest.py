"""What the console's tests share: texts that were looked at by a person and found good."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.console.serving import FakeCluster, serving

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def is_golden() -> Callable[[str, str], None]:
    """Compare a text with the one that is kept; a difference is for a person to judge."""

    def compare(name: str, text: str) -> None:
        assert text == (GOLDEN / f"{name}.txt").read_text()

    return compare


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """A cluster that KUBECONFIG names."""
    with serving(tmp_path) as found:
        monkeypatch.setenv("KUBECONFIG", str(found.kubeconfig))
        yield found
