"""Reads the DeleteOptions of a request from its body, or without a body from its query."""

from __future__ import annotations

from gateway.http.exchange import Request
from gateway.http.status import StatusError, bad_request
from gateway.jsontypes import JsonObject
from gateway.kinds.scheme import is_registered_of_meta, unregistered
from gateway.release.gates import Enabled
from gateway.schema.catalog import type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode, parse_to_decode
from gateway.schema.errors import YamlError
from gateway.schema.outside import read_yaml
from gateway.schema.protobuf import read_envelope
from gateway.schema.protobuf_wire import ProtobufError
from gateway.schema.refusals import json_kind
from gateway.writing.body import CBOR, META_STRUCT, PROTOBUF, parse_cbor, parse_protobuf, version_and_kind
from gateway.writing.offload import WEIGHTS, offloaded
from gateway.writing.options import DeleteOptions, delete_options_of_query, validated_delete_options

_KIND, _VERSION = "DeleteOptions", "meta.k8s.io/v1"
_INTERNAL = "meta.k8s.io/__internal"  # the version in kube-apiserver's audit log, whatever the client sent
_TYPE = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


async def read_delete_options(request: Request, enabled: Enabled) -> DeleteOptions:
    """The DeleteOptions of a request. `enabled` tests features and changes of the release.

    Raises StatusError 400, 413, 415, 422. In releases without the change UnreadableDeleteOptionsRefused, an unreadable
    body raises 500 instead of 400.
    """
    data = await request.body()
    if not data:
        if not request.query_string:
            return DeleteOptions()
        return delete_options_of_query(request.query, unsafe=enabled("AllowUnsafeMalformedObjectDeletion"))
    media_type = request.media.body_type(request.headers.get(b"content-type", b""))
    size = len(data) * WEIGHTS.get(media_type, 1)
    try:
        given = await offloaded(size, _decoded, data, media_type)
    except StatusError as error:
        if error.code == 400 and not enabled("UnreadableDeleteOptionsRefused"):
            raise StatusError(500, "", error.message) from None
        raise
    if (audit := request.audit) is not None:
        audit.requested({**given, "kind": _KIND, "apiVersion": _INTERNAL})
    return validated_delete_options(given, unsafe=enabled("AllowUnsafeMalformedObjectDeletion"))


def _decoded(data: bytes, media_type: str) -> JsonObject:
    if media_type == PROTOBUF:
        _check_envelope(data)
        value = parse_protobuf(data, type_of(_TYPE), _VERSION, _KIND, any_version=True)
    elif media_type == CBOR:
        value = parse_cbor(data, "DeleteOptions")
    elif media_type == "application/yaml":
        try:
            value, _ = read_yaml(data)
        except YamlError as error:
            raise bad_request(str(error)) from None
    else:
        try:
            value, _ = parse_to_decode(data)
        except DecodeError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    if value is not None and not isinstance(value, dict):
        problem = f"json: cannot unmarshal {json_kind(value)} into Go value of type {META_STRUCT}"
        raise bad_request(f"couldn't get version/kind; json parse error: {problem}")
    try:
        _check_kind(value or {}, media_type)
        return decode(type_of(_TYPE), {} if value is None else value, DecodeReport())
    except DecodeError as error:
        raise bad_request(str(error)) from None


def _check_envelope(data: bytes) -> None:
    try:
        read_envelope(data)
    except ProtobufError as error:  # the message is without the body's beginning, as for other media types here
        raise bad_request(str(error)) from None


def _check_kind(value: JsonObject, media_type: str) -> None:
    """Raises DecodeError for another kind than DeleteOptions; any version is accepted."""
    version, kind = version_and_kind(value)
    if version.count("/") > 1:
        if media_type != PROTOBUF:
            raise DecodeError(f"unexpected GroupVersion string: {version}")
        version = ""
    if is_registered_of_meta(kind, version):
        raise DecodeError(f"converting (v1.{kind}) to (v1.{_KIND}): unknown conversion")
    if kind and kind != _KIND:
        raise DecodeError(unregistered(kind, version or _VERSION))
