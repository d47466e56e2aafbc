"""A repeated apply is not computed again, and its answer is the same as if it were."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.apply import repetitions
from gateway.apply.repetitions import Repeated
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.writing import apply as apply_module
from tests.unit.verbs.conftest import Api

OBJECTS = "/api/v1/namespaces/default/configmaps"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"


def config(meta: dict[str, Any] | None = None, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **(meta or {})}, "data": data}


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The field managers of the applies that are computed."""
    managers: list[str] = []

    def counted(*args: Any, **named: Any) -> Any:
        managers.append(named["manager"])
        return real(*args, **named)

    real = apply_module.server_side_apply  # type: ignore[attr-defined]  # what the module calls is what is counted
    monkeypatch.setattr(apply_module, "server_side_apply", counted)
    return managers


async def apply(api: Api, body: Any, manager: str = "m", query: str = "") -> tuple[int, Any]:
    return await api.send("PATCH", f"{OBJECTS}/a", body, APPLY, f"fieldManager={manager}{query}")


async def test_it_is_not_worked_out_again(api: Api, worked_out: list[str]) -> None:
    _, made = await apply(api, config(x="1"))
    answers = [await apply(api, config(x="1")) for _ in range(4)]
    assert answers == [(200, made)] * 4
    assert worked_out == ["m", "m"]


async def test_who_applies_it_counts(api: Api, worked_out: list[str]) -> None:
    for manager in ("m", "m", "n", "n", "n", "m"):
        _, last = await apply(api, config(x="1"), manager)
    assert worked_out == ["m", "m", "n", "n", "m"]
    assert {each["manager"] for each in last["metadata"]["managedFields"]} == {"m", "n"}


async def test_what_somebody_else_has_changed_is_changed_back(api: Api) -> None:
    for _ in range(3):
        await apply(api, config(x="1"))
    await api.send("PATCH", f"{OBJECTS}/a", {"data": {"x": "2"}}, MERGE)
    with pytest.raises(StatusError) as caught:
        await apply(api, config(x="1"))
    assert caught.value.code == 409
    assert (await apply(api, config(x="1"), query="&force=true"))[1]["data"] == {"x": "1"}


async def test_a_version_that_it_names_has_to_be_the_present_one(api: Api) -> None:
    _, made = await apply(api, config(x="1"))
    named = config({"resourceVersion": made["metadata"]["resourceVersion"]}, x="1")
    for _ in range(2):
        assert await apply(api, named) == (200, made)
    for value in ("2", "1"):  # in between it is as it was, and of another version
        await api.send("PATCH", f"{OBJECTS}/a", {"data": {"x": value}}, MERGE, "fieldManager=m")
    with pytest.raises(StatusError) as caught:
        await apply(api, named, query="&force=true")
    assert caught.value.code == 409


async def test_a_key_given_twice_is_told_of_each_time(api: Api) -> None:
    body = b'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: "1", x: "1"}\n'
    for validation in ("Ignore", "Ignore", "Warn", "Warn"):
        await apply(api, body, query=f"&fieldValidation={validation}")
        assert bool(api.warnings) == (validation == "Warn")
    with pytest.raises(StatusError) as caught:
        await apply(api, body, query="&fieldValidation=Strict")
    assert caught.value.code == 400


KUBELET = User("system:node:n1", ("system:nodes", "system:authenticated"))
POD = {"metadata": {"name": "p"}, "spec": {"nodeName": "n2", "containers": [{"name": "c", "image": "i"}]}}
EMPTY_APPLIES = [
    ("/api/v1/nodes/n2", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}),
    ("/api/v1/namespaces/default/pods/p/status", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
]


@pytest.mark.parametrize(("path", "body"), EMPTY_APPLIES)
async def test_an_apply_that_changes_nothing_is_admitted_or_refused_as_every_write(
    path: str, body: dict[str, Any]
) -> None:
    """A kubelet that may not write the object must not get it as the answer."""
    api = Api(plugins=frozenset({"NodeRestriction"}))
    await api.send("POST", "/api/v1/nodes", {"metadata": {"name": "n2"}})
    await api.send("POST", "/api/v1/namespaces/default/pods", POD)
    for _ in range(3):
        with pytest.raises(StatusError) as caught:
            await api.send("PATCH", path, body, APPLY, "fieldManager=m", KUBELET)
        assert caught.value.code == 403


async def test_each_repetition_is_warned_of(api: Api) -> None:
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/warn": "restricted"}}}
    await api.send("PATCH", "/api/v1/namespaces/default", labels, MERGE)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    for _ in range(3):
        await api.send(
            "PATCH", "/apis/apps/v1/namespaces/default/deployments/d", body, APPLY, "fieldManager=m&force=true"
        )
        assert "would violate PodSecurity" in str(api.warnings)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetitions, "MOST", 3)
    known = Repeated()
    for digest in (b"a", b"b", b"c", b"d"):
        known.add(digest)
        assert digest in known
    assert len(known._known) <= 3


class _Forgetful(Repeated):
    __slots__ = ()

    def add(self, digest: bytes) -> None:
        """Caches nothing."""


STEPS = st.lists(
    st.tuples(
        st.sampled_from([APPLY, APPLY, MERGE]),
        st.sampled_from(["m", "n"]),
        st.sampled_from(["&force=true", "", "&dryRun=All"]),
        st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=2),
    ),
    max_size=12,
)


@given(STEPS)
def test_answers_are_those_of_a_server_that_forgets(steps: list[tuple[str, str, str, dict[str, str]]]) -> None:
    async def answers(api: Api) -> list[Any]:
        return [await _answer(api, *step) for step in steps]

    forgetful = Api()
    forgetful.endpoints.of("", "v1", "configmaps").__dict__["repeated"] = _Forgetful()
    assert asyncio.run(answers(Api())) == asyncio.run(answers(forgetful))


async def _answer(api: Api, media_type: str, manager: str, query: str, data: dict[str, str]) -> Any:
    """The answer to a request, without parts that differ from run to run."""
    body = config(**data) if media_type == APPLY else {"data": data}
    query = query.replace("&force=true", "&force=true" if media_type == APPLY else "")
    try:
        code, obj = await api.send("PATCH", f"{OBJECTS}/a", body, media_type, f"fieldManager={manager}{query}")
    except StatusError as error:
        return error.code, error.message
    meta = obj["metadata"]
    owned = {(each["manager"], str(each["fieldsV1"])) for each in meta.get("managedFields", [])}
    return code, meta.get("resourceVersion"), obj.get("data"), owned
