"""Checks requests for a Table or PartialObjectMetadata: the parameter includeObject, and list or single object."""

from __future__ import annotations

from dataclasses import replace

from gateway.http.exchange import Request
from gateway.http.negotiation import PARTIAL, PARTIAL_LIST, TABLE, Representation, Transform, not_acceptable
from gateway.http.status import StatusError, bad_request
from gateway.kinds.resource import Resource
from gateway.kinds.scheme import internal_package
from gateway.validation.field import go_quote

_INCLUDED = ("", "None", "Metadata", "Object")


def transformed(
    representation: Representation, transform: Transform, request: Request, resource: Resource, verb: str
) -> Representation:
    """The representation with a transform that a request wants, completed by includeObject.

    Raises StatusError 406, and for a watch 400.
    """
    if transform.kind != TABLE:
        return representation
    if tuple(resource.verbs) == ("create",):
        raise not_acceptable(request.media.types)  # kinds that are never stored, such as reviews, have no columns
    include = request.parameter("includeObject") if request.query_string else ""
    if include not in _INCLUDED:
        if verb == "watch":
            raise _unknown(include)
        return representation
    return replace(representation, transform=transform._replace(include=include or "Metadata"))


def check_answer(request: Request, resource: Resource, verb: str, is_status: bool) -> None:
    """Checks the transform after the verb has run, also of a write. Raises StatusError 406 for a list as
    PartialObjectMetadata, or an object as PartialObjectMetadataList. Raises 400 for an invalid includeObject.

    A Status passes: it is never transformed.
    """
    transform, lists = request.representation.transform, verb in ("list", "deletecollection")
    kind = transform.kind if transform is not None else ""
    if kind == TABLE and request.query_string and (include := request.parameter("includeObject")) not in _INCLUDED:
        raise _unknown(include)
    if is_status:
        return
    if kind == PARTIAL and lists:
        raise _refused(f"you requested {PARTIAL}, but the requested object is a list", resource, "List")
    if kind == PARTIAL_LIST and not lists and verb != "watch":
        raise _refused(f"you requested {PARTIAL_LIST}, but the requested object is not a list", resource, "")


def _unknown(include: str) -> StatusError:
    shown = f"Invalid value: {go_quote(include)}: must be 'Metadata', 'Object', 'None', or empty"
    return bad_request(f"Unable to convert to Table as requested: includeObject: {shown}")


def _refused(reason: str, resource: Resource, suffix: str) -> StatusError:
    go_type = f"*{internal_package(resource.kind_group)}.{resource.kind}{suffix}"
    if resource.defined:
        go_type = "*v1.Scale" if resource.subresource == "scale" else f"*unstructured.Unstructured{suffix}"
    return StatusError(406, "NotAcceptable", f"{reason} ({go_type})")
