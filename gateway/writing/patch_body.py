"""Reads the body, media type and options of a patch, and lets the audit record parse the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.http import status
from gateway.http.exchange import Request
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteOptions
from gateway.schema.body import parse_body
from gateway.schema.outside import read_yaml
from gateway.writing.options import write_options

JSON_PATCH = b"application/json-patch+json"
MERGE_PATCH = b"application/merge-patch+json"
STRATEGIC_MERGE_PATCH = b"application/strategic-merge-patch+json"
APPLY = b"application/apply-patch+yaml"
APPLY_CBOR = b"application/apply-patch+cbor"  # only if the server accepts CBOR
APPLIES = (APPLY, APPLY_CBOR)

_CUSTOM = (JSON_PATCH, MERGE_PATCH)
_BUILTIN = (*_CUSTOM, STRATEGIC_MERGE_PATCH)


def patch_type(request: Request, resource: Resource) -> bytes:
    """The media type of a patch. Raises StatusError 415."""
    content_type = request.headers.get(b"content-type", b"")
    media_type = content_type.partition(b";")[0]
    applies = APPLIES if request.media.has_cbor else (APPLY,)
    accepted = (*(_CUSTOM if resource.defined else _BUILTIN), *applies)
    if media_type not in accepted:
        raise _unsupported(content_type, accepted, routed=not resource.defined)
    return media_type


def _unsupported(content_type: bytes, accepted: Sequence[bytes], *, routed: bool) -> status.StatusError:
    """The error 415 of kube-apiserver for a Content-Type. `routed`: go-restful chooses the route by the header first.
    It reads the header as a list, without white space; the patch handler behind it does not.
    """
    if routed and not any(each.partition(b";")[0].strip(b" ") in accepted for each in content_type.split(b",")):
        return status.StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    types = ", ".join(each.decode() for each in accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {types}"
    return status.StatusError(415, "UnsupportedMediaType", message)


async def read_patch(request: Request, resource: Resource) -> tuple[bytes, bytes, WriteOptions]:
    """The media type, the body and the options of a patch. Raises StatusError 413, 415 and 422."""
    media_type = patch_type(request, resource)
    body = await request.body()
    if request.audit is not None:
        request.audit.patching(lambda: _value(media_type, body))
    return media_type, body, write_options(request.query, "PatchOptions", apply=media_type in APPLIES)


def _value(media_type: bytes, body: bytes) -> Any:
    """Parses a body in the format of its media type; whether it is a valid patch is not checked. Raises ValueError."""
    if media_type == APPLY:
        return read_yaml(body)[0]
    if media_type == APPLY_CBOR:
        from gateway.encodings import cbor

        return cbor.decode(body)
    return parse_body(body)[0]
