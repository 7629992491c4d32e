"""What the operator tells the agent through the environment, read once.

A value that cannot be read is replaced by its default and logged: it must not keep the program from running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sluice.agent import logs, profiling

DEFAULT_PORT = 8090
DEFAULT_STOP_DEADLINE_SECONDS = 20
DEFAULT_LEASE_SECONDS = 60


@dataclass(frozen=True)
class Settings:
    """Who the job is, and where the agent listens."""

    namespace: str
    name: str
    uid: str
    incarnation: str
    port: int
    token_file: str
    executors: int | None
    stop_deadline_seconds: int
    lease: str = ""
    lease_seconds: int = DEFAULT_LEASE_SECONDS
    is_profile: bool = False


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Read the settings; every one of them may be absent."""
    return Settings(
        namespace=environment.get("SLUICE_JOB_NAMESPACE", ""),
        name=environment.get("SLUICE_JOB_NAME", ""),
        uid=environment.get("SLUICE_JOB_UID", ""),
        incarnation=environment.get("SLUICE_INCARNATION", ""),
        port=_whole(environment, "SLUICE_AGENT_PORT") or DEFAULT_PORT,
        token_file=environment.get("SLUICE_AGENT_TOKEN_FILE", ""),
        executors=_whole(environment, "SLUICE_EXECUTORS"),
        stop_deadline_seconds=_deadline(environment),
        lease=environment.get("SLUICE_LEASE", ""),
        lease_seconds=_whole(environment, "SLUICE_LEASE_SECONDS") or DEFAULT_LEASE_SECONDS,
        is_profile=profiling.VARIABLE in environment,
    )


def _deadline(environment: Mapping[str, str]) -> int:
    seconds = _whole(environment, "SLUICE_STOP_DEADLINE_SECONDS")
    return DEFAULT_STOP_DEADLINE_SECONDS if seconds is None else seconds


def _whole(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    if text.isdecimal():
        return int(text)
    if text:
        logs.write("warning", f"{name}={text!r} is ignored: it must be a whole number, 0 or more")
    return None
