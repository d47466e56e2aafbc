"""Writes the status of a CustomResourceDefinition, for its controllers."""

from __future__ import annotations

from collections.abc import Callable

from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.writing.field_tracking import track_fields
from gateway.writing.make import Made, Present
from gateway.writing.update import update_object
from gateway.writing.write import begin_as

MANAGER = "kube-apiserver"


async def write_status(endpoints: EndpointTable, name: str, make: Callable[[JsonObject], JsonObject]) -> None:
    """Replaces the CRD by `make(present CRD)`. Does nothing if `make` returns its argument, or there is no such CRD.

    Raises StatusError, StorageError.
    """
    endpoint = endpoints.of("apiextensions.k8s.io", "v1", "customresourcedefinitions", "status")
    write = begin_as(endpoint, ITSELF, "update", "", name, MANAGER)

    def made(present: Present) -> Made:
        assert present.obj is not None  # a missing CRD raises NotFound before
        new = make(present.obj)
        if new is present.obj:
            return Made(new)
        new = {**new, "metadata": dict(new["metadata"])}
        track_fields(write, new, present)
        return Made(new)

    try:
        await update_object(write, made)
    except StatusError as error:
        if error.reason != "NotFound":
            raise
