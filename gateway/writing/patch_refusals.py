"""Errors for patches that cannot be parsed, in releases with the change PatchesReadFirst.

In these releases, kube-apiserver parses a patch before it reads the object, so that an unparsable patch gets 400 even
if the object does not exist. Here a patch is parsed for that only after its request has failed.
"""

from __future__ import annotations

from gateway.http.status import StatusError, bad_request
from gateway.schema.body import DecodeError, parse_body
from gateway.schema.errors import YamlError
from gateway.schema.outside import read_yaml
from gateway.writing.offload import offloaded
from gateway.writing.patch_body import APPLY, APPLY_CBOR
from gateway.writing.write import Write

_SYNTAX = ("invalid character", "unexpected end of JSON input")
_BEFORE, _STRICT = "error decoding YAML: ", "error strict decoding YAML: "


async def refusal(write: Write, error: StatusError, media_type: bytes, body: bytes) -> StatusError:
    """The error to answer after `error`: in those releases, a 400 if the patch cannot be parsed."""
    if not write.context.enabled("PatchesReadFirst"):
        return error
    return await offloaded(write.size, refused, error, media_type, body)


def refused(error: StatusError, media_type: bytes, body: bytes) -> StatusError:
    """A 400 in place of `error` if the patch cannot be parsed, otherwise `error`."""
    if media_type not in (APPLY, APPLY_CBOR):
        return error if _is_json(body) else bad_request("invalid JSON patch")
    # what begins as JSON is parsed later, when the object was read
    if media_type == APPLY and not body.lstrip().startswith(b"{") and (problem := _no_yaml(body)):
        return bad_request(f"error encoding patch: {problem}")
    for prefix in (_BEFORE, _STRICT):
        if error.code == 400 and error.message.startswith(prefix):
            return bad_request(prefix.replace("YAML", "patch") + error.message.removeprefix(prefix))
    return error


def _is_json(body: bytes) -> bool:
    try:
        parse_body(body)
    except DecodeError as error:
        return not str(error).startswith(_SYNTAX)
    return True


def _no_yaml(body: bytes) -> str:
    try:
        read_yaml(body)
    except YamlError as error:
        return str(error)
    return ""
