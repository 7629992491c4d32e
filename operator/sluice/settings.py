"""The operator's own settings: from the environment, read once, in `cli`."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Settings of the operator's process. Each is an environment variable SLUICE_OPERATOR_<NAME>."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_OPERATOR_", frozen=True)

    namespaces: str = Field(
        "", description="Comma-separated namespaces to look after; empty means all of the cluster."
    )
    watch_nodes: bool = Field(
        True,
        description="Whether pods leave nodes in order that are cordoned or removed; needs the right to list nodes.",
    )
    make_namespaces: bool = Field(
        True,
        description="Whether copies of jobs that are profiled may have namespaces that the operator makes for them.",
    )
    home: str = Field("default", description="Namespace of the operator's own Lease and Secret.")
    identity: str = Field(
        "sluice", description="What this process calls itself in the Lease; the pod's name."
    )
    paused: bool = Field(
        False,
        description="Whether the operator only looks on and reports: no job is started, stopped or rescaled.",
    )
    concurrent_restarts: int = Field(
        10,
        ge=1,
        le=10000,
        description="Jobs that are restarted at once by choice: changed specs, moves, rescales.",
    )
    workers: int = Field(16, ge=1, le=256, description="Jobs that are reconciled at the same time.")
    poll_interval: float = Field(
        5.0, ge=0.5, le=600, description="Seconds between two questions to the same agent."
    )
    polls_per_second: float = Field(
        25.0, gt=0, le=1000, description="Questions per second to all agents together."
    )
    health_port: int = Field(8081, ge=1, le=65535, description="Port of /healthz and /readyz.")
    metrics_port: int = Field(9090, ge=1, le=65535, description="Port of /metrics.")
    prometheus_url: str = Field(
        "",
        pattern=r"^(https?://.+)?$",
        description="A server that speaks PromQL; empty means that objectives are not measured.",
    )
    prometheus_login: Path | None = Field(
        None,
        description="Folder with a file token, or with username and password; read for each question.",
    )
    prometheus_ca_file: Path | None = Field(
        None, description="Certificate authority of the server, if it is not a public one."
    )
    prometheus_headers: dict[str, str] = Field(
        {},
        description='Further headers as JSON, for servers of several tenants: {"X-Scope-OrgID": "a"}.',
    )
    prometheus_deadline: float = Field(
        10.0, gt=0, le=120, description="Seconds until a question is given up."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        "INFO", description="Least level logged."
    )
    log_format: Literal["json", "plain"] = Field(
        "json", description="One JSON object a line, or lines for people."
    )
