import ast
import io
import zipfile

import pytest

from sluice.agent import pack

LARGEST_CONFIG_MAP = 1_048_576


def sources() -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(pack.packed())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_same_code_packs_to_the_same_bytes() -> None:
    assert pack.packed() == pack.packed()


def test_the_packed_agent_fits_into_a_config_map_with_room_to_spare() -> None:
    assert len(pack.packed()) * 4 / 3 < LARGEST_CONFIG_MAP / 4


def test_the_packer_is_not_packed() -> None:
    assert "sluice_agent/pack.py" not in sources()


@pytest.mark.parametrize("name", sorted(sources()))
def test_the_packed_agent_reads_as_python_3_9(name: str) -> None:
    ast.parse(sources()[name], feature_version=(3, 9))


@pytest.mark.parametrize("name", sorted(sources()))
def test_the_packed_agent_imports_the_standard_library_and_itself_only(name: str) -> None:
    nodes = ast.walk(ast.parse(sources()[name]))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]

    assert not [module for module in modules if module and module.startswith("sluice.")]
    assert not [module for module in modules if module and module.startswith("pyspark")]
