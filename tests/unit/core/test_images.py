"""What of an image's name, or of what a kubelet tells, is a digest."""

import pytest

from sluice.core.images import digest_in

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize(
    "told",
    [
        DIGEST,
        f"registry.example.com:5000/shop/clicks@{DIGEST}",
        f"shop/clicks:1.4@{DIGEST}",
        f"docker://{DIGEST}",
        f"docker-pullable://shop/clicks@{DIGEST}",
    ],
)
def test_a_digest_is_told_in_several_forms(told: str) -> None:
    assert digest_in(told) == DIGEST


@pytest.mark.parametrize(
    "told",
    [
        "",
        "shop/clicks",
        "shop/clicks:latest",
        "shop/clicks@sha256:0a0a",
        f"shop/clicks@sha512:{'0a' * 64}",
        f"shop/clicks@{DIGEST}0",
        f"shop/my{DIGEST}",
    ],
)
def test_all_else_is_no_digest(told: str) -> None:
    assert digest_in(told) is None
