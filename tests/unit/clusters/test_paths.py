"""The path alone decides whose request it is."""

from __future__ import annotations

import pytest

from gateway.audit.cluster import CLUSTER
from gateway.clusters.outbound import OutboundRules
from gateway.clusters.paths import named, names_of, within


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (b"/clusters/a", ("a", b"/")),
        (b"/clusters/a/", ("a", b"/")),
        (b"/clusters/a/api/v1", ("a", b"/api/v1")),
        (b"/clusters/a-1/api%2Fv1", ("a-1", b"/api%2Fv1")),
        (b"/clusters/a//api", ("a", b"//api")),
        (b"/clusters/a/../b/api", ("a", b"/../b/api")),
        (b"/clusters/" + b"a" * 63 + b"/api", ("a" * 63, b"/api")),
    ],
)
def test_a_name_is_found(path: bytes, found: tuple[str, bytes]) -> None:
    assert named(path) == found


@pytest.mark.parametrize(
    "below",
    [
        b"",
        b"/",
        b"/a",
        b"A/api",
        b"a.b/api",
        b"a-/api",
        b"-a/api",
        b"a%2Fapi",
        b"%61/api",
        b"a\x00/api",
        b"a?/api",
        b".",
        b"../a",
        b"a" * 64 + b"/api",
        b"a;b/api",
        b"a\xc3\xa4/api",
    ],
)
def test_another_text_is_no_name(below: bytes) -> None:
    assert named(b"/clusters/" + below) is None


def test_the_rest_of_the_scope_stays() -> None:
    scope = {"path": "/clusters/a/api%2F", "raw_path": b"/clusters/a/api%252F", "query_string": b"a=b", "headers": []}
    inside = within(scope, b"/api%252F", "a")
    assert inside.pop(CLUSTER) == "a"
    assert inside == {"path": "/api%2F", "raw_path": b"/api%252F", "query_string": b"a=b", "headers": []}
    assert scope["path"] == "/clusters/a/api%2F"
    assert within(scope, b"/a%zz", "a")["path"] == "/a%zz"


@pytest.mark.parametrize("address", ["192.0.2.1", "10.1.2.3", "2001:4860::1", "fd00::1"])
def test_other_hosts_may_be_called(address: str) -> None:
    assert OutboundRules()(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "0.0.0.0",
        "::",
        "169.254.169.254",
        "fe80::1%eth0",
        "224.0.0.1",
        "255.255.255.255",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "host",
    ],
)
def test_this_host_and_its_surroundings_may_not(address: str) -> None:
    assert not OutboundRules()(address)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        *(
            (b"a.planes.example", "a"),
            (b"a.planes.example:6443", "a"),
            (b"A.Planes.Example.:1", "a"),
            (b"a.planes.example:006443", "a"),
        ),
        *((b"planes.example", None), (b"b.a.planes.example", None), (b"a.planesxexample", None), (b"", None)),
        *((b"a-.planes.example", None), (b"a.planes.example:x", None), (b"a.planes.example\n", None)),
    ],
)
def test_a_host_names_a_control_plane(host: bytes, name: str | None) -> None:
    assert names_of("planes.example")([(b"accept", b"a.planes.example"), (b"host", host)]) == name


def test_of_several_hosts_none_counts() -> None:
    both = [(b"host", b"a.planes.example"), (b"host", b"a.planes.example")]
    assert names_of("planes.example")(both) is names_of("planes.example")([]) is None
