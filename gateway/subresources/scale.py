"""scale: the number of replicas of a workload, seen and set as an autoscaling/v1 Scale.

A write to it is a write to the workload: the strategy of the workload runs, and its managedFields record who set the
replicas (under the subresource's name).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

from gateway.apply.scale import to_parent, to_scale
from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dump_line, loads
from gateway.kinds import metadata
from gateway.kinds.scheme import SCHEME
from gateway.kinds.write_context import WriteOptions
from gateway.reading.objects import read_entry
from gateway.release.gates import Enabled
from gateway.subresources.scale_views import ScaleView, view_of
from gateway.validation.field import FieldError, invalid
from gateway.validation.objectmeta import validate_managed_fields, validate_object_meta
from gateway.writing.answer import body_of
from gateway.writing.apply import CONFIGURATIONS
from gateway.writing.body import read_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.make import Made, MakeObject, Present
from gateway.writing.options import write_options
from gateway.writing.patch import maker_of, size_of
from gateway.writing.patch_body import APPLIES, read_patch
from gateway.writing.patch_refusals import refusal
from gateway.writing.update import update_object
from gateway.writing.write import Sent, Write, begin


async def get(endpoint: Endpoint, request: Request) -> Response:
    """Answers the Scale of a workload. Raises StatusError 404."""
    parent = endpoint.parent()
    entry = await read_entry(parent, request)
    return Response(200, dump_line(view_of(parent.resource).get(loads(parent.shape.json(entry)))))


async def update(endpoint: Endpoint, request: Request) -> Response:
    """Sets the replicas by a whole Scale. Raises StatusError 400, 404, 409, 415, 422."""
    options = write_options(request.query, "UpdateOptions")
    sent = await _read(request, endpoint, options)
    given = sent.obj
    write, meta = begin(endpoint, request, options, size=sent.size), given["metadata"]
    metadata.match_namespace(meta, write.context.namespace)
    metadata.match_name(meta, write.context.name)

    def make(present: Present) -> Made:
        new = deepcopy(given)
        track_fields(write, new, present)
        return Made(new)

    return await _write(request, write, make, uid=meta.get("uid", ""))


async def _read(request: Request, endpoint: Endpoint, options: WriteOptions) -> Sent:
    """The Scale in the request. For a custom object, an error 400 has the message of kube-apiserver, whose scheme for
    custom objects does not know Scale.
    """
    try:
        return await read_object(request, endpoint, options.validation)
    except StatusError as error:
        if error.code != 400 or not endpoint.parent().resource.custom:
            raise
        raise status.bad_request(f"no kind is registered for the type v1.Scale {SCHEME}") from None


async def patch(endpoint: Endpoint, request: Request) -> Response:
    """Sets the replicas by a patch of the Scale. Raises StatusError 400, 404, 409, 415, 422."""
    parent = endpoint.parent().resource
    media_type, body, options = await read_patch(request, parent)
    write = begin(endpoint, request, options, size=size_of(media_type, body))
    make = maker_of(write, media_type, body)
    if media_type in APPLIES and parent.custom:
        make = _unless_changed(make, lambda: CONFIGURATIONS[media_type](body)[0])
    try:
        return await _write(request, write, make)
    except StatusError as error:
        raise await refusal(write, error, media_type, body) from None


def _unless_changed(make: MakeObject, read: Callable[[], JsonObject]) -> MakeObject:
    """An apply to the Scale of a custom object. As in kube-apiserver, it fails unless it changes managedFields alone.

    kube-apiserver converts the Scale there as an object of the CustomResourceDefinition, which has no version
    autoscaling/v1.
    """

    def unchanged(present: Present) -> Made:
        old = present.obj
        assert old is not None
        if not old["metadata"].get("managedFields"):
            read()  # raises for a configuration that cannot be read; other errors are found later
            raise _unconvertible("failed to create manager for existing fields: failed to convert live", {})
        made = make(present)
        if _but_managers(made.obj) != _but_managers(old):
            # without the warnings of `made`: kube-apiserver looks for repeated keys after its field manager
            raise _unconvertible("failed to convert new", read()["metadata"])
        return made

    return unchanged


def _unconvertible(what: str, named: JsonObject) -> StatusError:
    place = f"{named.get('namespace') or ''}/{named.get('name') or ''}"
    scale = f"object ({place}; autoscaling/v1, Kind=Scale) to proper version"
    return StatusError(500, "", f"{what} {scale}: request to convert CR to an invalid group/version: autoscaling/v1")


def _but_managers(scale: JsonObject) -> JsonObject:
    return {**scale, "metadata": {key: part for key, part in scale["metadata"].items() if key != "managedFields"}}


async def _write(request: Request, write: Write, make: MakeObject, uid: str = "") -> Response:
    workload = write.endpoint.parent()
    facet = _ScaleOf(write.endpoint, workload, write.context.name, view_of(workload.resource))
    parent = begin(workload, request, write.options, size=write.size, facet=facet)
    written = await update_object(parent, make, uid=uid)
    return Response(200, dump_line(facet.of(loads(await body_of(parent, written)))))


@dataclass(frozen=True, slots=True)
class _ScaleOf:
    """A workload as its Scale."""

    endpoint: Endpoint
    parent: Endpoint
    name: str
    view: ScaleView

    def before(self, obj: JsonObject) -> JsonObject:
        scale = self.view.before(obj)
        if owners := to_scale(obj["metadata"].get("managedFields") or [], self.view.paths):
            scale["metadata"]["managedFields"] = owners
        return scale

    def of(self, obj: JsonObject) -> JsonObject:
        return self.view.scale(obj)

    def into(self, obj: JsonObject, shown: JsonObject) -> JsonObject:
        """A copy of the workload with the replicas of a Scale. Raises StatusError 400, 409, 422."""
        view, version = self.view, self.parent.resource.api_version
        if view.validated:
            _validate(self.parent, self.name, shown, obj)
        new = deepcopy(obj)
        view.put(new, (shown.get("spec") or {}).get("replicas", 0))
        meta, entries = new["metadata"], obj["metadata"].get("managedFields") or []
        given = shown["metadata"].get("resourceVersion", "")
        if given or view.validated:  # a custom object's may be left out, though its own updates need one
            meta["resourceVersion"] = given
        owned = to_parent(entries, shown["metadata"].get("managedFields") or [], version, view.paths)
        if owned:
            meta["managedFields"] = owned
        else:
            meta.pop("managedFields", None)
        return new


def _validate(parent: Endpoint, name: str, scale: JsonObject, old: JsonObject) -> None:
    resource, enabled = parent.resource, parent.services.admission.release.gates.enabled
    errors = [error.as_told(enabled) for error in _metadata_errors(scale["metadata"], enabled)]
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        errors.append(invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    if errors:
        raise status.invalid("autoscaling", "Scale", name, errors)
    wanted, actual = scale["metadata"].get("uid"), old["metadata"].get("uid", "")
    if wanted and wanted != actual:
        cause = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
        raise status.conflict(resource.group, f"{resource.resource}/scale", name, cause)


def _metadata_errors(meta: JsonObject, enabled: Enabled) -> list[FieldError]:
    if enabled("ScaleMetadataIgnored"):
        return validate_managed_fields(meta.get("managedFields") or [], "metadata.managedFields")
    return validate_object_meta(meta, True)
