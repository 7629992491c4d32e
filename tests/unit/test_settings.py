"""Settings: each is a variable, each has a description and a default that it accepts itself."""

import json

import pytest
from pydantic import ValidationError

from sluice.settings import Settings


@pytest.mark.parametrize("name", Settings.model_fields)
def test_each_setting_is_described_by_a_sentence(name: str) -> None:
    described = Settings.model_fields[name].description or ""
    assert described[:1].isupper()
    assert described.endswith(".")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_each_setting_is_a_variable_that_accepts_its_default(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = Settings.model_fields[name].default
    if default is None:
        pytest.skip("it has none: left out is left out")
    written = json.dumps(default) if isinstance(default, dict) else str(default)
    monkeypatch.setenv(f"SLUICE_OPERATOR_{name.upper()}", written)
    assert getattr(Settings(), name) == default


def test_settings_do_not_change_while_the_process_runs() -> None:
    for name in Settings.model_fields:
        with pytest.raises(ValidationError, match="frozen"):
            setattr(Settings(), name, 3)
