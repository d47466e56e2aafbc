"""The media type of a patch, and the answer to another one: that of kube-apiserver 1.37.2."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.http.status import StatusError
from gateway.writing.patch_body import APPLY_CBOR, MERGE_PATCH, patch_type

NO_ROUTE = "415: Unsupported Media Type"
HANDLER = "the body of the request was in an unknown format - accepted media types include: "
BUILTIN = (
    "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, "
    "application/apply-patch+yaml"
)
CUSTOM = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"


def chosen(content_type: bytes, *, custom: bool = False, cbor: bool = False) -> bytes:
    request: Any = SimpleNamespace(headers={b"content-type": content_type}, media=SimpleNamespace(has_cbor=cbor))
    resource: Any = SimpleNamespace(defined=custom)
    return patch_type(request, resource)


def refusal(content_type: bytes, *, custom: bool = False) -> str:
    with pytest.raises(StatusError) as refused:
        chosen(content_type, custom=custom)
    assert refused.value.code == 415
    return refused.value.message


@pytest.mark.parametrize("parameters", [b"", b";", b"; a=b", b";a,x/y"])
def test_the_parameters_of_a_media_type_do_not_count(parameters: bytes) -> None:
    assert chosen(MERGE_PATCH + parameters) == chosen(MERGE_PATCH + parameters, custom=True) == MERGE_PATCH


@pytest.mark.parametrize(
    "content_type",
    [
        MERGE_PATCH + b" ; a=b",
        MERGE_PATCH + b",",
        b"," + MERGE_PATCH,
        b"text/plain, " + MERGE_PATCH,
        b"x/y;," + MERGE_PATCH,
    ],
)
def test_a_header_that_only_the_router_accepts_is_refused_with_the_types(content_type: bytes) -> None:
    assert refusal(content_type) == HANDLER + BUILTIN
    assert refusal(content_type, custom=True) == HANDLER + CUSTOM


@pytest.mark.parametrize(
    "content_type",
    [
        b"",
        b",",
        b";",
        b"*/*",
        b"text/plain",
        APPLY_CBOR,
        APPLY_CBOR + b",",
        b"x/y;" + MERGE_PATCH,
        MERGE_PATCH + b"\t; a",
    ],
)
def test_a_header_without_a_type_of_patches_has_no_route(content_type: bytes) -> None:
    assert refusal(content_type) == NO_ROUTE
    assert refusal(content_type, custom=True) == HANDLER + CUSTOM, "no router looks at a custom resource's header"


def test_an_apply_in_cbor_is_one_where_the_server_accepts_cbor() -> None:
    assert chosen(APPLY_CBOR, cbor=True) == chosen(APPLY_CBOR, cbor=True, custom=True) == APPLY_CBOR
