"""A kubelet gets a token for an audience that its pod does not name only where a feature gate is off."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.authorization import AlwaysDeny
from gateway.admission.plugins.node_tokens import Audiences
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.kinds.identity import core
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT

POD = {"metadata": {"name": "p", "uid": "1"}, "spec": {"nodeName": "a"}}
REF = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}
GATE = "ServiceAccountNodeAudienceRestriction"


class OnePod:
    """The objects of a server that has one pod."""

    async def get(self, *place: Any) -> dict[str, Any]:
        return POD


async def check(audiences: list[str], *, restricted: bool) -> None:
    """Asks for a token for the pod. Raises StatusError 403 if the node may not have it."""
    objects: Any = OnePod()
    spec = {"audiences": audiences, "boundObjectRef": REF}
    admission: Any = SimpleNamespace(
        obj={"spec": spec},
        namespace="n",
        name="robot",
        user=User("system:node:a", ("system:nodes",)),
        resource=core("serviceaccounts"),
    )
    await Audiences(objects, AlwaysDeny(), Gates(DEFAULT, [(GATE, restricted)]).enabled).check("a", admission)


async def test_without_the_gate_a_node_gets_tokens_for_all_audiences() -> None:
    for audiences in ([], ["vault"], ["vault", "other"]):
        await check(audiences, restricted=False)
        with pytest.raises(StatusError):
            await check(audiences, restricted=True)
