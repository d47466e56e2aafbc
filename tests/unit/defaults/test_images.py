"""An image whose tag is or would be "latest" is pulled always; one that does not parse is left to validation."""

from __future__ import annotations

import pytest

from gateway.defaults.images import pull_policy
from tests.hostile.doubling import cpu
from tests.limits import at_most_cpu, least

DIGEST = "0" * 64


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:latest",
        "team/web",
        "registry.example.com:5000/web",
        "registry.example.com:5000/web:latest",
        "index.docker.io/web",
        "localhost/web",
        "[::1]:5000/web",
        "UPPER/web",
        "a__b",
        f"web:latest@sha256:{DIGEST}",
        "l" * 246,  # 255 with library/
    ],
)
def test_latest_is_pulled_always(image: str) -> None:
    assert pull_policy(image) == "Always"


@pytest.mark.parametrize(
    "image",
    [
        "busybox:1.36",
        "registry.example.com:5000/web:1",
        f"web@sha256:{DIGEST}",
        f"web@sha512:{'a' * 128}",
    ],
)
def test_a_fixed_tag_or_digest_is_pulled_once(image: str) -> None:
    assert pull_policy(image) == "IfNotPresent"


@pytest.mark.parametrize(
    "image",
    [
        "",
        "Web",
        "team/Web:latest",
        "a b",
        "a:latest\n",
        "a___b",
        "a:",
        "é",
        DIGEST,
        f"web:latest@sha256:{'0' * 63}",
        f"web:latest@md5:{'0' * 32}",
        f"web@sha256:{'A' * 64}",
        "l" * 248,
    ],
)
def test_what_does_not_parse_counts_as_fixed(image: str) -> None:
    assert pull_policy(image) == "IfNotPresent"


@pytest.mark.parametrize("part", ["i/", "i-", "i.", "i_", "a.b/", "A", "@"])
@pytest.mark.parametrize("start", ["", "docker.io/", "a@", "a:1@a", "a.b:latest@"])
def test_an_image_of_megabytes_is_left_to_validation_at_once(start: str, part: str) -> None:
    """The pattern would keep the GIL for 0.6 s."""
    image = start + part * (3_000_000 // len(part))
    assert pull_policy(image) == "IfNotPresent"
    at_most_cpu(least(lambda: cpu(lambda: pull_policy(image))), 0.05)


def test_the_longest_image_is_read() -> None:
    longest = f"{'l' * 255}:{'t' * 128}@sha512:{'a' * 128}"
    assert pull_policy(f"e.com/{longest}") == "IfNotPresent"
    assert pull_policy(f"e.com/{'l' * 255}:latest") == "Always"
    assert pull_policy(f"e.com/{'l' * 256}:latest") == "IfNotPresent"
