"""Where the API server is: in a pod, and from a kubeconfig."""

import base64
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from sluice.adapters import credentials
from sluice.adapters.credentials import Credentials, find_credentials
from sluice.errors import ClusterUnavailable


def kubeconfig(
    folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> dict[str, str]:
    """The environment with such a kubeconfig."""
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }
    (folder / "config").write_text(yaml.safe_dump(content))
    return {"KUBECONFIG": str(folder / "config")}


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a pod's service account."""
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("first\n")
    (folder / "ca.crt").write_text("the cluster's authority")
    monkeypatch.setattr(credentials, "ACCOUNT", folder)
    return folder


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_a_pod_uses_its_own_account_though_there_is_a_kubeconfig(
    account: Path, tmp_path: Path, host: str, server: str
) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": host, **kubeconfig(tmp_path)}
    found = find_credentials(environment)
    assert found.server == server
    assert found.authority == "the cluster's authority"


def test_a_pods_token_is_read_anew_each_time(account: Path) -> None:
    found = find_credentials({"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert found.bearer() == "first"
    (account / "token").write_text("second\n")
    assert found.bearer() == "second"


def test_a_kubeconfig_may_hold_its_certificates(tmp_path: Path) -> None:
    data = {name: base64.b64encode(name.encode()).decode() for name in ("ca", "cert", "key")}
    environment = kubeconfig(
        tmp_path,
        cluster={"certificate-authority-data": data["ca"]},
        user={"client-certificate-data": data["cert"], "client-key-data": data["key"]},
    )
    found = find_credentials(environment)
    assert found.server == "https://host:6443"
    assert (found.authority, found.certificate, found.key) == ("ca", "cert", "key")


def test_files_that_a_kubeconfig_names_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("the authority")
    environment = kubeconfig(tmp_path, cluster={"certificate-authority": "pki/ca.crt"})
    assert find_credentials(environment).authority == "the authority"


def test_a_file_that_a_kubeconfig_names_and_that_is_missing_is_told(tmp_path: Path) -> None:
    environment = kubeconfig(tmp_path, user={"client-certificate": "lost.crt"})
    with pytest.raises(ClusterUnavailable, match=r"client-certificate '.*lost.crt' cannot be read"):
        find_credentials(environment)


def test_of_a_private_key_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    newkey = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", str(key), "-out", str(certificate))
    asked = ("openssl", "req", "-x509", *newkey, *files, "-subj", "/CN=us")
    subprocess.run(asked, check=True, capture_output=True)
    shown = Credentials(
        server="https://host",
        authority=certificate.read_text(),
        certificate=certificate.read_text(),
        key=key.read_text(),
    ).tls()
    assert len(shown.get_ca_certs()) == 1
    assert not list((tmp_path / "temporary").iterdir())


def test_a_token_of_a_kubeconfig_is_used(tmp_path: Path) -> None:
    assert find_credentials(kubeconfig(tmp_path, user={"token": "t"})).bearer() == "t"
    (tmp_path / "token").write_text("from a file\n")
    by_file = kubeconfig(tmp_path, user={"tokenFile": str(tmp_path / "token")})
    assert find_credentials(by_file).bearer() == "from a file"
    beside = kubeconfig(tmp_path, user={"tokenFile": "token"})
    assert find_credentials(beside).bearer() == "from a file"


def test_certificates_are_verified_unless_the_kubeconfig_says_otherwise(tmp_path: Path) -> None:
    assert find_credentials(kubeconfig(tmp_path)).tls().check_hostname
    careless = kubeconfig(tmp_path, cluster={"insecure-skip-tls-verify": True})
    assert not find_credentials(careless).tls().check_hostname


def test_without_a_kubeconfig_it_is_said_where_one_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ClusterUnavailable, match=r"config: set KUBECONFIG"):
        find_credentials({"HOME": str(tmp_path)})


def test_a_context_that_is_missing_is_named_with_the_remedy(tmp_path: Path) -> None:
    environment = kubeconfig(tmp_path)
    file = Path(environment["KUBECONFIG"])
    file.write_text(file.read_text().replace("current-context: here", "current-context: there"))
    with pytest.raises(ClusterUnavailable, match=r"no context 'there'.*kubectl config use-context"):
        find_credentials(environment)


@pytest.mark.parametrize("content", ["", "contexts: null\ncurrent-context: ''\n"])
def test_a_kubeconfig_that_was_emptied_has_no_context(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(ClusterUnavailable, match=r"no context .*kubectl config use-context"):
        find_credentials({"KUBECONFIG": str(tmp_path / "config")})
