"""Cache entries have the same values in CBOR as in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from gateway.encodings.cbor import decode
from gateway.encodings.encoder import EndpointFacts
from gateway.encodings.list_meta import ListMeta
from gateway.encodings.registry import encoder_for
from gateway.http.negotiation import WITH_CBOR
from gateway.jsontypes import dumps
from gateway.kinds.columns.registry import columns_of
from gateway.kinds.stored_head import head_of
from gateway.schema.catalog import type_for
from gateway.schema.encode import encode_stored
from storage.entry import ChangeType, Entry
from tests.samples import kinds, samples

STORED = [gvk for gvk in kinds() if "metadata" in type_for(*gvk).fields and not gvk[2].endswith("List")]
FORMS = ["", ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"]


def shape_of(group: str, version: str, kind: str) -> EndpointFacts:
    api_version = f"{group}/{version}" if group else version
    return EndpointFacts(
        kind=kind,
        api_version=api_version,
        head=head_of(kind, api_version),
        list_head=head_of(f"{kind}List", api_version) + b'"metadata":{"resourceVersion":"',
        empty=lambda: b"}",
        type=lambda: type_for(group, version, kind),
        columns=lambda: columns_of(group, kind),
        in_version=lambda obj, _: obj,
    )


def entries_of(shape: EndpointFacts, gvk: tuple[str, str, str]) -> Sequence[Entry]:
    found = []
    for number, (_, obj) in enumerate(samples(*gvk), 1):
        obj["metadata"] = obj.get("metadata") or {}
        value = encode_stored(obj, shape.kind, shape.api_version, shape.type())
        found.append(Entry(b"/%d" % number, b"", value.removeprefix(shape.head), number))
    return found


@pytest.mark.parametrize("form", FORMS, ids=["whole", "metadata"])
@pytest.mark.parametrize("gvk", STORED, ids="/".join)
def test_objects_lists_and_events(gvk: tuple[str, str, str], form: str) -> None:
    shape = shape_of(*gvk)
    entries = entries_of(shape, gvk)
    in_cbor, in_json = (
        encoder_for(WITH_CBOR.negotiate(f"application/{media}{form}".encode(), "list"), shape)
        for media in ("cbor", "json")
    )
    for entry in entries:
        assert decode(in_cbor.entry(entry)) == json.loads(in_json.entry(entry))
        event = in_json.event(ChangeType.MODIFIED, entry)
        assert decode(in_cbor.event(ChangeType.MODIFIED, entry)) == json.loads(event)
    lists = []
    for encoder in (in_cbor, in_json):
        groups = [encoder.items(entries[:1], True), encoder.items(entries[1:], False)]
        lists.append(b"".join(encoder.list(ListMeta(7, "token", 4), groups, len(entries))))
    assert decode(lists[0]) == json.loads(lists[1])
    assert decode(in_cbor.bookmark(9, True)) == json.loads(in_json.bookmark(9, True))
    status = dumps({"kind": "Status", "code": 410})
    assert decode(in_cbor.error(status)) == json.loads(in_json.error(status))
