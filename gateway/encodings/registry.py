"""Which encoder makes a negotiated representation, and how a Status is written in it."""

from __future__ import annotations

from gateway.encodings import pretty_json
from gateway.encodings.encoder import Encoder, Shape
from gateway.encodings.json import JsonEncoder
from gateway.encodings.rendered import RenderedEncoder
from gateway.http.negotiation import YAML, Representation

_INDENTED_STEP = 256 * 1024  # bytes of JSON that are rendered in some milliseconds
_YAML_STEP = 4 * 1024


def encoder_for(representation: Representation, shape: Shape) -> Encoder:
    """A new encoder of one endpoint's objects."""
    if representation.media is YAML:
        from gateway.encodings import yaml  # only clients that ask for YAML pay for it

        return RenderedEncoder(shape, yaml.FORMAT, _YAML_STEP)
    if representation.pretty:
        return RenderedEncoder(shape, pretty_json.FORMAT, _INDENTED_STEP)
    return JsonEncoder(shape)


def encode_plain(representation: Representation, value: bytes) -> bytes:
    """JSON that is no object of an endpoint (a Status, a discovery document) in a representation."""
    if representation.media is YAML:
        from gateway.encodings import yaml

        return yaml.to_yaml(value)
    return pretty_json.indent(value) if representation.pretty else value
