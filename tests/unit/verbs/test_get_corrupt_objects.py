"""Unreadable objects are neither shown nor written back, and deleted only by an explicit option."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.authorization import ALLOWED, NO_OPINION, Verdict
from gateway.http.status import StatusError
from gateway.kinds.attributes import Attributes
from storage.values import UnreadableValue
from tests.unit.verbs.conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"
KEY = b"/registry/configmaps/default/a"
UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
OBJECT = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}}


@pytest.fixture
def earlier() -> Api:
    """A server of 1.36, whose gate AllowUnsafeMalformedObjectDeletion is off."""
    return Api("1.36")


@pytest.fixture
def corrupt(earlier: Api) -> Api:
    """The same with an object that can't be read."""
    earlier.store.spoil(KEY, b"?")
    return earlier


@pytest.mark.parametrize(
    ("method", "body", "media_type"),
    [
        ("PUT", OBJECT, "application/json"),
        ("PATCH", {"data": {"x": "y"}}, "application/merge-patch+json"),
        ("PATCH", [{"op": "add", "path": "/data", "value": {}}], "application/json-patch+json"),
        ("PATCH", OBJECT, "application/apply-patch+yaml"),
        ("DELETE", None, ""),
        ("DELETE", {"kind": "DeleteOptions", "apiVersion": "v1", UNSAFE: False}, "application/json"),
    ],
)
async def test_a_write_to_it_is_answered_500_and_changes_nothing(
    corrupt: Api, method: str, body: Any, media_type: str
) -> None:
    query = "fieldManager=m" if "apply" in media_type else ""
    before = corrupt.store.objects[KEY]
    with pytest.raises(StatusError) as refused:
        await corrupt.send(method, f"{MAPS}/a", body, media_type, query)
    assert (refused.value.code, refused.value.message) == (500, "the test says so")
    assert corrupt.store.objects[KEY] == before


async def test_its_name_is_taken(corrupt: Api) -> None:
    with pytest.raises(StatusError) as refused:
        await corrupt.send("POST", MAPS, OBJECT)
    assert refused.value.reason == "AlreadyExists"


async def test_it_goes_when_that_is_asked_for(corrupt: Api) -> None:
    code, answer = await corrupt.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true")
    assert (code, answer["status"], answer["details"]) == (200, "Success", {"name": "a", "kind": "ConfigMap"})
    assert KEY not in corrupt.store.objects


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"dryRun": ["All"]}, ["dryRun"]),
        ({"gracePeriodSeconds": 0, "propagationPolicy": "Orphan"}, ["propagationPolicy", "gracePeriodSeconds"]),
        ({"orphanDependents": False, "preconditions": {"uid": "u"}}, ["orphanDependents", "preconditions"]),
    ],
)
async def test_no_other_option_goes_with_it(corrupt: Api, options: dict[str, Any], refused: list[str]) -> None:
    with pytest.raises(StatusError) as error:
        await corrupt.send("DELETE", f"{MAPS}/a", {**options, UNSAFE: True})
    assert error.value.code == 422
    texts = [cause["message"] for cause in (error.value.details or {})["causes"]]
    assert texts == [f"Invalid value: true: cannot be set together with .{name}" for name in refused]
    assert KEY in corrupt.store.objects


async def test_not_everybody_may(corrupt: Api) -> None:
    class Nobody:
        def known(self, attributes: Attributes) -> Verdict | None:
            return None

        async def authorize(self, attributes: Attributes) -> Verdict:
            return NO_OPINION if attributes.info.verb == "unsafe-delete-ignore-read-errors" else ALLOWED

    corrupt.endpoints.services.authorizer = Nobody()
    with pytest.raises(StatusError) as refused:
        await corrupt.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true")
    assert refused.value.code == 403
    assert KEY in corrupt.store.objects


async def test_the_option_says_nothing_where_the_object_can_be_read(earlier: Api) -> None:
    api = earlier
    await api.send("POST", MAPS, OBJECT)
    code, answer = await api.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true&dryRun=All")
    assert (code, answer["status"]) == (200, "Success")
    code, _ = await api.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true&gracePeriodSeconds=0")
    assert code == 200 and KEY not in api.store.objects


@pytest.fixture
def later() -> Api:
    """A server of 1.37, whose gate AllowUnsafeMalformedObjectDeletion is on, with an object that can't be read."""
    api = Api("1.37")
    api.store.spoil(KEY, b"?")
    return api


async def test_where_the_gate_is_on_a_dry_run_says_whether_it_would_go(later: Api) -> None:
    code, answer = await later.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true&dryRun=All")
    assert (code, answer["status"]) == (200, "Success") and KEY in later.store.objects
    code, answer = await later.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true")
    assert (code, answer["details"]) == (200, {"name": "a", "kind": "ConfigMap"}) and KEY not in later.store.objects
    with pytest.raises(StatusError) as refused:
        await later.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true")
    assert refused.value.code == 404


async def test_where_the_gate_is_on_an_object_that_can_be_read_stays(later: Api) -> None:
    await later.send("POST", MAPS, {**OBJECT, "metadata": {"name": "b"}})
    with pytest.raises(StatusError) as refused:
        await later.send("DELETE", f"{MAPS}/b", query=f"{UNSAFE}=true")
    assert refused.value.code == 409
    assert refused.value.message.endswith("unsafe deletion is not allowed because the object is decodable from storage")
    with pytest.raises(StatusError) as refused:
        await later.send("DELETE", MAPS, {UNSAFE: True})
    assert "is not allowed with DELETECOLLECTION, try again after removing the option" in refused.value.message
    with pytest.raises(StatusError) as refused:
        await later.send("DELETE", f"{MAPS}/b", {UNSAFE: True, "gracePeriodSeconds": 0})
    assert "Invalid value: true: cannot be set together with .gracePeriodSeconds" in refused.value.message


async def test_where_the_gate_is_on_the_right_comes_first(later: Api) -> None:
    class Nobody:
        def known(self, attributes: Attributes) -> Verdict | None:
            return None

        async def authorize(self, attributes: Attributes) -> Verdict:
            return NO_OPINION if attributes.info.verb == "unsafe-delete-ignore-read-errors" else ALLOWED

    later.endpoints.services.authorizer = Nobody()
    with pytest.raises(StatusError) as refused:
        await later.send("DELETE", f"{MAPS}/a", query=f"{UNSAFE}=true")
    assert refused.value.code == 403
    assert 'not permitted to do "unsafe-delete-ignore-read-errors", reason: ' in refused.value.message


ENCRYPTED = UnreadableValue(b"?")
UNDECODABLE = "object not decodable revision={}: the test says so"
UNDECRYPTED = "data from the storage is not transformable revision=0: the test says so"


async def refused_of(api: Api, *request: Any) -> StatusError:
    with pytest.raises(StatusError) as found:
        await api.send(*request)
    return found.value


async def test_where_the_gate_is_on_a_deletion_names_its_key(later: Api) -> None:
    read = "StorageError: corrupt object, Code: 7, Key: /configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: "
    answer = await refused_of(later, "DELETE", f"{MAPS}/a")
    text = f"Internal error occurred: {read}{UNDECODABLE.format(later.store.revision)}"
    assert (answer.code, answer.reason, answer.message) == (500, "InternalError", text)
    later.store.spoil(KEY, ENCRYPTED)
    answer = await refused_of(later, "DELETE", f"{MAPS}/a")
    assert answer.details == {"causes": [{"message": f"{read}{UNDECRYPTED}"}]}


@pytest.mark.parametrize(
    ("method", "body", "media_type"),
    [("PUT", OBJECT, "application/json"), ("PATCH", {"data": {"x": "y"}}, "application/merge-patch+json")],
)
async def test_where_the_gate_is_on_an_update_has_the_words_of_the_storage(
    later: Api, method: str, body: Any, media_type: str
) -> None:
    answer = await refused_of(later, method, f"{MAPS}/a", body, media_type)
    assert (answer.reason, answer.message) == ("", UNDECODABLE.format(later.store.revision))
    later.store.spoil(KEY, ENCRYPTED)
    answer = await refused_of(later, method, f"{MAPS}/a", body, media_type)
    assert (answer.reason, answer.message) == ("InternalError", f"Internal error occurred: {UNDECRYPTED}")
