"""DeleteOptions are accepted in every apiVersion, and in each encoding of the body."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.jsontypes import dumps
from tests.unit.verbs.conftest import Api

PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
JSON, PROTOBUF = "application/json", "application/vnd.kubernetes.protobuf"
VERSIONS = ["", "v1", "meta.k8s.io/v1", "coordination.k8s.io/v1", "apps/v1", "example.com/v9", "__internal"]


def field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def dry_run(media_type: str, version: str, kind: str) -> bytes:
    """A body that asks for a dry run."""
    if media_type == JSON:
        return dumps({"kind": kind, "apiVersion": version, "dryRun": ["All"]})
    named = field(1, version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, named) + field(2, field(5, b"All")) + field(3, b"") + field(4, b"")


@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["DeleteOptions", ""])
async def test_the_options_hold_whatever_their_version(api: Api, media_type: str, version: str, kind: str) -> None:
    await api.send("POST", PATH, {"metadata": {"name": "l"}})
    status, _ = await api.send("DELETE", f"{PATH}/l", dry_run(media_type, version, kind), media_type)
    assert status == 200
    assert b"/registry/leases/default/l" in api.store.objects, "it was a dry run"


@pytest.mark.parametrize("media_type", [JSON, PROTOBUF])
@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("v1", 'for version "v1"'),
        ("", 'for version "meta.k8s.io/v1"'),
        ("apps/v1", 'for version "apps/v1"'),
        ("apps/__internal", 'for the internal version of group "apps"'),
    ],
)
async def test_another_kind_is_refused(api: Api, media_type: str, version: str, told: str) -> None:
    await api.send("POST", PATH, {"metadata": {"name": "l"}})
    with pytest.raises(StatusError) as caught:
        await api.send("DELETE", f"{PATH}/l", dry_run(media_type, version, "Lease"), media_type)
    assert caught.value.code == 400
    assert caught.value.message == f'no kind "Lease" is registered {told} in scheme "pkg/runtime/scheme.go:111"'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": 1}, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ({"apiVersion": []}, "json: cannot unmarshal array into Go struct field .apiVersion of type string"),
        ({"Kind": "Lease"}, 'no kind "Lease" is registered for version "meta.k8s.io/v1"'),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
async def test_what_names_no_version_is_refused(api: Api, body: dict[str, Any], message: str) -> None:
    await api.send("POST", PATH, {"metadata": {"name": "l"}})
    with pytest.raises(StatusError) as caught:
        await api.send("DELETE", f"{PATH}/l", body)
    assert caught.value.code == 400
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("Status", "v1"),
        ("APIGroup", "apps/v1"),
        ("CreateOptions", "v1"),
        ("Table", "meta.k8s.io/v1"),
        ("GetOptions", ""),
    ],
)
async def test_other_kinds_of_meta_are_known_and_no_options(api: Api, kind: str, version: str) -> None:
    """As recorded from kube-apiserver: its scheme for options knows these kinds."""
    await api.send("POST", PATH, {"metadata": {"name": "l"}})
    with pytest.raises(StatusError) as caught:
        await api.send("DELETE", f"{PATH}/l", dry_run(JSON, version, kind), JSON)
    assert caught.value.message == f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion"


@pytest.mark.parametrize(
    ("kind", "version", "known"),
    [
        ("List", "v1", True),
        ("PodLogOptions", "v1", True),
        ("Table", "v1", False),
        ("GetOptions", "meta.k8s.io/v1", False),
    ],
)
async def test_which_kinds_objects_may_be_mistaken_for(api: Api, kind: str, version: str, known: bool) -> None:
    with pytest.raises(StatusError) as caught:
        await api.send("POST", PATH, {"kind": kind, "apiVersion": version, "metadata": {"name": "l"}})
    assert ("unknown conversion" in caught.value.message) is known, caught.value.message


async def test_a_body_that_is_no_protobuf_is_refused_without_its_start(api: Api) -> None:
    await api.send("POST", PATH, {"metadata": {"name": "l"}})
    with pytest.raises(StatusError) as caught:
        await api.send("DELETE", f"{PATH}/l", b'{"kind":"DeleteOptions"}', PROTOBUF)
    words = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    assert (caught.value.code, caught.value.message) == (400, words)
