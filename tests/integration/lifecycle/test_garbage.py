"""Garbage collection (page "Garbage Collection")."""

from __future__ import annotations

from typing import Any

from tests.integration.lifecycle.api import Api, reference
from tests.until import until


def test_dependents_go_after_their_owner_and_theirs_after_them(api: Api) -> None:
    owner = api.create("owner")
    child = api.create("child", [owner])
    api.create("grandchild", [child], "secrets")
    api.create("stranger")
    assert api.delete("owner", "Background").json["status"] == "Success"
    until(lambda: api.names() == {"stranger"} and not api.names("secrets"))


def test_in_the_foreground_the_owner_goes_last(api: Api) -> None:
    owner = api.create("owner")
    api.create("held", [(owner, True)], finalizers=["example.com/f"])
    api.create("free", [(owner, True)])
    marked = api.delete("owner", "Foreground").json
    assert marked["metadata"]["finalizers"] == ["foregroundDeletion"]
    until(lambda: api.names() == {"owner", "held"})
    until(lambda: (api.get("held") or {})["metadata"].get("deletionTimestamp"))
    api.patch("held", {"finalizers": None})
    until(lambda: not api.names())


def test_what_does_not_block_its_owner_is_not_waited_for(api: Api) -> None:
    owner = api.create("owner")
    api.create("held", [(owner, False)], finalizers=["example.com/f"])
    api.delete("owner", "Foreground")
    until(lambda: api.names() == {"held"})
    until(lambda: (api.get("held") or {})["metadata"].get("deletionTimestamp"))
    api.patch("held", {"finalizers": None})
    until(lambda: not api.names())


def test_orphans_stay_and_forget_their_owner(api: Api) -> None:
    owner, other = api.create("owner"), api.create("other")
    api.create("one", [owner])
    api.create("two", [owner, other])
    api.delete("owner", "Orphan")
    until(lambda: "owner" not in api.names())
    one, two = api.get("one"), api.get("two")
    assert one is not None and two is not None
    assert "ownerReferences" not in one["metadata"]
    assert two["metadata"]["ownerReferences"] == [reference(other)]
    api.delete("other", "Background")
    until(lambda: api.names() == {"one"})


def test_one_owner_is_enough(api: Api) -> None:
    owner, other = api.create("owner"), api.create("other")
    api.create("both", [owner, other])
    api.delete("owner", "Background")
    until(lambda: (api.get("both") or {})["metadata"]["ownerReferences"] == [reference(other)])


def test_an_owner_of_another_uid_is_none(api: Api) -> None:
    owner = api.create("owner")
    again = {**owner, "metadata": {**owner["metadata"], "uid": "00000000-0000-4000-8000-000000000000"}}
    api.create("deceived", [again])
    until(lambda: api.names() == {"owner"})


def test_an_owner_of_an_unknown_kind_keeps_its_dependents(api: Api) -> None:
    api.create("kept", [{"kind": "Gadget", "apiVersion": "example.com/v1", "metadata": {"name": "g", "uid": "u"}}])
    owner = api.create("owner")
    api.create("child", [owner])
    api.delete("owner", "Background")
    until(lambda: "child" not in api.names())
    assert api.names() == {"kept"}


def test_an_owner_in_another_namespace_is_none_and_is_warned_of(api: Api) -> None:
    far = Api(api.server, api.namespace + "-far").begin()
    owner = far.create("owner")
    child = api.create("child", [owner])
    until(lambda: not api.names())
    until(lambda: api.ask("GET", api.path(resource="events")).json["items"])
    events = api.ask("GET", api.path(resource="events")).json["items"]
    which = f"v1/ConfigMap, namespace: {api.namespace}, name: owner, uid: {owner['metadata']['uid']}"
    assert [(each["type"], each["reason"], each["message"]) for each in events] == [
        ("Warning", "OwnerRefInvalidNamespace", f'ownerRef [{which}] does not exist in namespace "{api.namespace}"')
    ]
    assert events[0]["involvedObject"]["uid"] == child["metadata"]["uid"]
    assert far.names() == {"owner"}


def test_an_object_without_a_namespace_has_no_owner_in_one_and_stays(api: Api) -> None:
    owner, path = api.create("owner"), "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    meta = {"name": api.namespace, "ownerReferences": [reference(owner)]}
    made = api.ask("POST", path, {"metadata": meta, "rules": []})
    assert made.status == 201, made.body

    def warnings() -> list[Any]:
        found = api.ask("GET", "/api/v1/namespaces/default/events").json["items"]
        return [each for each in found if each["involvedObject"].get("uid") == made.json["metadata"]["uid"]]

    until(warnings)
    which = f"v1/ConfigMap, namespace: , name: owner, uid: {owner['metadata']['uid']}"
    assert warnings()[0]["message"] == f'ownerRef [{which}] does not exist in namespace ""'
    assert warnings()[0]["reason"] == "OwnerRefInvalidNamespace"
    api.delete("owner", "Background")
    api.create("probe", [api.create("other")])
    api.delete("other", "Background")
    until(lambda: not api.names())
    assert api.ask("DELETE", f"{path}/{api.namespace}").status == 200


def test_a_cycle_goes_as_a_whole(api: Api) -> None:
    first = api.create("first")
    second = api.create("second", [(first, True)])
    api.patch("first", {"ownerReferences": [reference(second, True)]})
    api.delete("first", "Foreground")
    until(lambda: not api.names())


def test_a_delete_of_the_dependents_alone_leaves_the_owner(api: Api) -> None:
    owner = api.create("owner")
    api.create("child", [(owner, True)])
    api.delete("child")
    until(lambda: api.names() == {"owner"})


def test_pods_of_absent_nodes_are_finished(api: Api) -> None:
    spec = {"nodeName": "nowhere", "containers": [{"name": "c", "image": "i"}]}
    api.has_account()
    made = api.ask("POST", api.path(resource="pods"), {"metadata": {"name": "p"}, "spec": spec})
    assert made.status == 201, made.body
    assert made.json["spec"]["serviceAccountName"] == "default"
    assert api.delete("p", resource="pods").json["metadata"]["deletionGracePeriodSeconds"] == 30
    until(lambda: not api.names("pods"))
