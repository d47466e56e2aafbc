"""Chooses the encoder for a negotiated representation, and encodes a Status in it.

Modules of representations are imported at their first use, so that a start does not wait for them.
"""

from __future__ import annotations

from gateway.encodings import pretty_json, yaml
from gateway.encodings.encoder import Encoder, EndpointFacts
from gateway.encodings.format import Format
from gateway.encodings.formatted_encoder import FormattedEncoder
from gateway.encodings.json import JsonEncoder
from gateway.encodings.protobuf_encoder import ProtobufEncoder, status_message
from gateway.http.negotiation import CBOR, PROTOBUF, TABLE, YAML, Representation, Transform

_INDENTED_STEP = 256 * 1024
_YAML_STEP = 4 * 1024


def encoder_for(representation: Representation, shape: EndpointFacts) -> Encoder:
    """A new encoder of one endpoint's objects."""
    if representation.transform is not None:
        return _transforming(representation, representation.transform, shape)
    if representation.media is PROTOBUF:
        return ProtobufEncoder(shape)
    if representation.media is CBOR:
        from gateway.encodings.cbor_encoder import CborEncoder

        return CborEncoder(shape)
    format_ = _format(representation)
    if format_ is None:
        return JsonEncoder(shape)
    return FormattedEncoder(shape, format_, _step(representation))


def _transforming(representation: Representation, transform: Transform, shape: EndpointFacts) -> Encoder:
    made: Encoder
    if transform.kind == TABLE:
        from gateway.encodings.table import Include
        from gateway.encodings.table_encoder import TableEncoder

        made = TableEncoder(shape, transform.version, Include(transform.include))
    else:
        from gateway.encodings.partial_encoder import PartialEncoder, PartialProtobufEncoder

        if representation.media is PROTOBUF:
            return PartialProtobufEncoder(shape, transform.version)
        if representation.media is CBOR:
            from gateway.encodings.cbor_encoder import PartialCborEncoder

            return PartialCborEncoder(shape, transform.version)
        made = PartialEncoder(shape, transform.version)
    format_ = _format(representation)
    if format_ is None:
        return made
    from gateway.encodings.reformatted_encoder import ReformattedEncoder

    return ReformattedEncoder(made, format_, _step(representation), b"rows" if transform.kind == TABLE else b"items")


def _step(representation: Representation) -> int:
    """The number of JSON bytes that are rendered in some milliseconds."""
    return _YAML_STEP if representation.media is YAML else _INDENTED_STEP


def _format(representation: Representation) -> Format | None:
    """The format in which JSON is rendered; None for compact JSON."""
    if representation.media is YAML:
        return yaml.FORMAT
    return pretty_json.FORMAT if representation.pretty else None


def encode_plain(representation: Representation, value: bytes) -> bytes:
    """Encodes JSON that is not an object of an endpoint, such as a Status."""
    if representation.media is PROTOBUF:
        return status_message(value)
    if representation.media is CBOR:
        from gateway.encodings.cbor_encoder import plain

        return plain(value)
    format_ = _format(representation)
    return value if format_ is None else format_.whole(value)
