"""Helm, without which these tests are skipped."""

import pytest

from tests.support.helm import Helm, find_helm


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Helm, from the local cluster's programs or the PATH."""
    program = find_helm()
    if program is None:
        pytest.skip("there is no helm: `python3 -m e2e.cluster build kube` builds it")
    return Helm(program)
