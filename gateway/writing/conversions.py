"""Conversions by webhook that an update needs for managed fields in other versions.

Managed fields are computed by a synchronous function, which cannot wait. It raises Unconverted at the first missing
conversion, and runs again after the webhook has made it, until no conversion is missing.
"""

from __future__ import annotations

from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.identity import GroupVersion
from gateway.kinds.manager_versions import version_of_manager
from gateway.kinds.model import ConversionFailed
from gateway.schema.types import Type


class Unconverted(Exception):
    """A webhook must convert an object first."""

    def __init__(self, obj: JsonObject, version: GroupVersion) -> None:
        super().__init__(str(version))
        self.obj, self.version = obj, version


class Conversions:
    """The conversions by webhook of one write."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._resource, self._model = endpoint.resource, endpoint.resource.model
        self._known: dict[tuple[bytes, GroupVersion], JsonObject | ConversionFailed] = {}

    def __call__(self, obj: JsonObject, api_version: str) -> tuple[JsonObject, Type] | None:
        """The object in another version, and that version's type.

        Raises Unconverted, and ValueError if the webhook failed or the version no longer exists.
        """
        version = version_of_manager(self._resource, api_version)
        assert version is not None  # only built-in kinds forget versions
        wanted = version.gvk.group_version
        if obj["apiVersion"] == api_version:
            return obj, version.type
        bare = {**obj, "metadata": {key: part for key, part in obj["metadata"].items() if key != "managedFields"}}
        found = self._known.get((dumps(bare), wanted))
        if found is None:
            raise Unconverted(bare, wanted)
        if isinstance(found, ConversionFailed):
            raise ValueError(str(found))
        return found, version.type

    async def supply(self, missing: Unconverted) -> None:
        """Asks the webhook for the missing conversion."""
        assert self._model.convert_all is not None
        sent = dumps(missing.obj)
        try:
            made = (await self._model.convert_all([missing.obj], missing.version))[0]
        except ConversionFailed as error:
            self._known[sent, missing.version] = error
        else:
            self._known[sent, missing.version] = made


def conversions_of(endpoint: Endpoint) -> Conversions | None:
    """The conversions of a write, if a webhook converts the kind; None otherwise, and for Scales, which have one
    version.
    """
    resource = endpoint.resource
    return Conversions(endpoint) if resource.model.convert_all is not None and not resource.foreign_kind else None
