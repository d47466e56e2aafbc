"""DeleteOptions from a request: its body or, when there is none, its query."""

from __future__ import annotations

from gateway.http.exchange import Request
from gateway.http.status import bad_request
from gateway.jsontypes import JsonObject
from gateway.schema.catalog import type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_body
from gateway.schema.problems import json_kind
from gateway.writing.body import CBOR, META_STRUCT, PROTOBUF, SCHEME, parse_cbor, parse_protobuf
from gateway.writing.offload import YAML, offloaded
from gateway.writing.options import DeleteOptions, delete_options_of_query, validated_delete_options

_TYPE = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


async def read_delete_options(request: Request) -> DeleteOptions:
    """Raises StatusError 400, 413, 415, 422."""
    data = await request.body()
    if not data:
        return delete_options_of_query(request.query) if request.query_string else DeleteOptions()
    media_type = request.media.body_type(request.headers.get(b"content-type", b""))
    size = len(data) * YAML if media_type == "application/yaml" else len(data)
    return validated_delete_options(await offloaded(size, lambda: _decoded(data, media_type)))


def _decoded(data: bytes, media_type: str) -> JsonObject:
    if media_type == PROTOBUF:
        value = parse_protobuf(data, type_of(_TYPE), "v1", "DeleteOptions")
    elif media_type == CBOR:
        value = parse_cbor(data, "DeleteOptions")
    elif media_type == "application/yaml":
        from gateway.writing.yaml_body import YamlError, parse_yaml

        try:
            value, _ = parse_yaml(data)
        except YamlError as error:
            raise bad_request(str(error)) from None
    else:
        try:
            value, _ = parse_body(data)
        except DecodeError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if value is not None and not isinstance(value, dict):
        problem = f"json: cannot unmarshal {json_kind(value)} into Go value of type {META_STRUCT}"
        raise bad_request(f"couldn't get version/kind; json parse error: {problem}")
    if value:
        kind, version = value.get("kind") or "DeleteOptions", value.get("apiVersion") or "v1"
        if kind != "DeleteOptions":
            raise bad_request(f'no kind "{kind}" is registered for version "{version}" {SCHEME}')
    try:
        return decode(type_of(_TYPE), {} if value is None else value, DecodeReport())
    except DecodeError as error:
        raise bad_request(str(error)) from None
