"""Creates by update and apply."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.authorization import ALLOWED, NO_OPINION, AlwaysAllow, Verdict
from gateway.http.status import StatusError
from gateway.kinds.attributes import Attributes
from gateway.writing import create
from tests.unit.verbs.conftest import Api

PATH = "/api/v1/namespaces/default/configmaps/a"
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


class NoCreates(AlwaysAllow):
    """Allows all verbs but create."""

    def known(self, attributes: Attributes) -> Verdict | None:
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        return NO_OPINION if attributes.info.verb == "create" else ALLOWED


async def test_validating_admission_is_not_called_without_the_right_to_create(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api, validated = Api(), list[str]()
    real: Any = create.validate  # type: ignore[attr-defined]  # what the module calls

    async def counted(write: Any, *args: Any) -> Any:
        validated.append(write.context.name)
        return await real(write, *args)

    monkeypatch.setattr(create, "validate", counted)
    services: Any = api.endpoints.services
    services.authorizer = NoCreates()
    with pytest.raises(StatusError, match="cannot create resource") as caught:
        await api.send("PATCH", PATH, BODY, "application/apply-patch+yaml", "fieldManager=m")
    assert (caught.value.code, validated) == (403, [])
    services.authorizer = AlwaysAllow()
    await api.send("PATCH", PATH, BODY, "application/apply-patch+yaml", "fieldManager=m")
    assert validated == ["a"]
