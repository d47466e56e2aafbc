"""The 422 for a patch whose result cannot be decoded as its kind. It quotes the patched document or the patch."""

from __future__ import annotations

from typing import Any

from gateway.http.status import StatusError, invalid
from gateway.jsontypes import JsonObject, go_escaped
from gateway.patches import strategic_merge_patch
from gateway.patches.spelling import written
from gateway.patches.unstructured import mismatch
from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.types import Type
from gateway.validation import field as errors
from gateway.validation.go_print import go_print


def undecodable(shown: Any, message: str, type_: Type | None, quoted: Any = None) -> StatusError:
    """The error for a JSON patch or merge patch. `shown` is the patched document, as the error quotes it; `quoted` is
    the same with the client's spelling of strings, if that may differ.

    `message` is the error of the decoder. With a `type_`, `shown` is decoded once more, and that error takes the place
    of `message`. It quotes numbers as they are written, and is about the first mistake in the order of `shown`. Errors
    about apiVersion and kind stay, because kube-apiserver reads these first.
    """
    if type_ is not None and not message.startswith("couldn't get version/kind"):
        try:
            decode(type_, shown, DecodeReport())
        except DecodeError as error:
            message = str(error)
    return _refused(go_escaped(written(shown if quoted is None else quoted).decode()), message)


def unconvertible(
    document: JsonObject, patch: JsonObject, type_: Type, message: str, strict: bool = False
) -> StatusError:
    """The error for a strategic merge patch. It quotes the patch without the directives that merging has carried out:
    the patch is changed so.

    `message` is the error of the decoder. kube-apiserver uses Go's map-to-struct converter for these patches, so the
    converter's error takes the place of `message` if it has one. With `strict`, `message` stays.
    """
    result = strategic_merge_patch.apply(document, patch, type_)
    own = None if strict else mismatch(result, type_)
    return _refused(go_print(patch), own or message)


def _refused(text: str, message: str) -> StatusError:
    return invalid("", "", "", [errors.invalid("patch", text, message)])
