"""Lists in access reviews, and lists that give access to a pod, cost time in proportion to their length."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from copy import deepcopy

import pytest

from gateway.access.authentication import InvalidCredentials
from gateway.access.service_account_tokens import ServiceAccountTokens
from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.certificatesigningrequests import STRATEGIES
from gateway.kinds.strategies.certificatesigningrequests import _fill_times as fill_times
from gateway.validation.certificate_request import _conditions as validate_conditions
from gateway.validation.field import FieldError
from gateway.validation.volume_mounts import validate_volume_devices, validate_volume_mounts
from tests.hostile.doubling import is_in_proportion
from tests.hostile.test_credentials import KEY, OWN, Everything

NOW = "2026-01-01T00:00:00Z"


def conditions(size: int, **more: str) -> JsonObject:
    found = [{"type": f"t{i}", "status": "True", **more} for i in range(size)]
    return {"spec": {}, "status": {"conditions": found}}


def times_of_conditions(size: int) -> Callable[[], object]:
    new, old = conditions(size), conditions(size, lastTransitionTime=NOW)
    return lambda: fill_times(deepcopy(new), old, NOW)


def validated_conditions(size: int) -> Callable[[], object]:
    found: list[JsonObject] = conditions(size)["status"]["conditions"]
    return lambda: validate_conditions(found, found)


def places(size: int) -> Callable[[], object]:
    mounts = [{"name": "a", "mountPath": f"/m{i}"} for i in range(size)]
    devices = [{"name": f"d{i}", "devicePath": f"/d{i}"} for i in range(size)]
    mounts += [{"name": f"v{i}", "mountPath": f"/v{i}"} for i in range(size)]
    container: JsonObject = {"volumeMounts": mounts, "volumeDevices": devices}
    volumes = {"a": {"name": "a", "emptyDir": {}}}

    def validate() -> None:
        errors = list[FieldError]()
        validate_volume_mounts(mounts, container, volumes, "volumeMounts", errors)
        validate_volume_devices(devices, container, volumes, "volumeDevices", errors)

    return validate


def audiences(size: int) -> Callable[[], object]:
    """A TokenReview for very many audiences, of a token that is meant for as many."""
    tokens = ServiceAccountTokens(["i"], lambda: [KEY.public], ["api"], Everything())
    own: Sequence[str] = [f"own{i}" for i in range(size)]
    claims: JsonObject = {"iss": "i", "aud": own, "exp": 4e9, "kubernetes.io": OWN}
    tokens._claims = lambda token: claims  # type: ignore[method-assign]  # a signature takes the same time always
    asked = [f"asked{i}" for i in range(size)]

    def review() -> None:
        with contextlib.suppress(InvalidCredentials):
            asyncio.run(tokens.authenticate("a.b.c", asked))

    return review


@pytest.mark.parametrize("case", [times_of_conditions, validated_conditions, places, audiences])
def test_twice_as_much_takes_twice_as_long(case: Callable[[int], Callable[[], object]]) -> None:
    is_in_proportion(case)


def test_a_time_is_kept_where_a_condition_comes_again() -> None:
    old = conditions(2, lastTransitionTime="2020-01-01T00:00:00Z")
    new = conditions(3)
    new["status"]["conditions"][1]["status"] = "Unknown"
    fill_times(new, old, NOW)
    found = [each["lastTransitionTime"] for each in new["status"]["conditions"]]
    assert found == ["2020-01-01T00:00:00Z", NOW, NOW]
    assert STRATEGIES["approval"].validate_update is not None
