"""What builds must know of this machine to reach its package registries, as build secrets.

A company's certificates, mirrors and proxies are given to the steps that download and reach no layer of an image
(the names are explained at the top of the Dockerfile). apt needs nothing: its packages carry signatures of their own.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_CERTIFICATES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
_PIP_OPTIONS = {"index-url", "extra-index-url", "trusted-host", "proxy", "default-timeout"}


@contextmanager
def build_secrets() -> Iterator[dict[str, Path]]:
    """Give the files of this machine's settings by the ids that the Dockerfiles know."""
    with TemporaryDirectory(prefix="sluice-images-") as folder:
        secrets = {"pip": Path(folder) / "pip"}
        secrets["pip"].write_text(_pip_configuration())
        if certificates := _certificates():
            secrets["certificates"] = certificates
        maven = Path.home() / ".m2" / "settings.xml"
        if maven.exists():
            secrets["maven-settings"] = maven
        yield secrets


def _certificates() -> Path | None:
    candidates = [os.environ.get("SSL_CERT_FILE", ""), *_CERTIFICATES]
    return next((Path(path) for path in candidates if path and Path(path).is_file()), None)


def _pip_configuration() -> str:
    """Write down what pip here was told by files and environment, less what means a path of this machine."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    lines = ["[global]"]
    if _certificates():
        lines.append("cert = /run/secrets/certificates")
    lines += [f"{name} = {value}" for name, value in parse_pip_settings(listed.stdout).items()]
    return "\n".join(lines) + "\n"


def parse_pip_settings(listing: str) -> dict[str, str]:
    """Read `pip config list`: lines such as global.index-url='URL'; the environment (:env:) has the last word."""
    settings: dict[str, str] = {}
    for line in sorted(listing.splitlines(), key=lambda line: line.startswith(":env:")):
        place, _, value = line.partition("=")
        name = place.rpartition(".")[2]
        if name in _PIP_OPTIONS:
            settings[name] = str(ast.literal_eval(value))
    return settings
