"""The packed agent, built once."""

from pathlib import Path

import pytest

from sluice.agent import pack


@pytest.fixture(scope="session")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "agent.pyz"
    path.write_bytes(pack.packed())
    return path
