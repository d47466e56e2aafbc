"""The 422 for a patch whose result is no valid object of its kind: it quotes the patched document or the patch."""

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


def undecodable(shown: Any, message: str, type_: Type | None) -> StatusError:
    """For JSON and merge patches: what they gave, with its members in the order `shown`, was refused with `message`.

    The `type_` that reads it, where one does, tells the first mistake in that order, and numbers as they are written;
    kind and version are read before that.
    """
    if type_ is not None and not message.startswith("couldn't get version/kind"):
        try:
            decode(type_, shown, DecodeReport())
        except DecodeError as error:
            message = str(error)
    return _refused(go_escaped(written(shown).decode()), message)


def unconvertible(
    document: JsonObject, patch: JsonObject, type_: Type, message: str, strict: bool = False
) -> StatusError:
    """For strategic merge patches; quotes what merging left of the patch.

    `message` is the decoder's. Unless it is about strict errors, the wording of Go's map-to-struct converter, which
    kube-apiserver uses for these patches, comes before it.
    """
    rest = strategic_merge_patch.copied(patch)
    result = strategic_merge_patch.merged(document, rest, type_)
    own = None if strict else mismatch(result, type_)
    return _refused(go_print(rest), own or message)


def _refused(text: str, message: str) -> StatusError:
    return invalid("", "", "", [errors.invalid("patch", text, message)])
