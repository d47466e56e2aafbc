"""The garbage collector's graph agrees with the objects, in whatever order their changes come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.controllers.ownership import Graph, Owner, OwnershipNode, node_of, uid_of
from gateway.jsontypes import dumps
from gateway.writing.deletion_plan import FOREGROUND, ORPHAN
from storage.entry import Entry, entry_of

HEAD = b'{"kind":"ConfigMap","apiVersion":"v1",'


def entry(name: str, **metadata: object) -> Entry:
    meta = {"name": name, "namespace": "n", "uid": f"uid-{name}", **metadata}
    value = HEAD + dumps({"metadata": meta})[1:] + b" \n"
    return entry_of(f"/configmaps/n/{name}".encode(), value, 7, HEAD)


def reference(name: str, blocks: bool = False) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": f"uid-{name}", "blockOwnerDeletion": blocks}


def test_what_has_no_owners_and_stays_is_not_kept() -> None:
    plain = entry("a", annotations={"x": '"ownerReferences":['})
    assert node_of(b"/configmaps/", plain) is None
    assert uid_of(plain) == "uid-a"


def test_a_node_is_what_the_object_says() -> None:
    node = node_of(
        b"/configmaps/",
        entry(
            "a",
            ownerReferences=[reference("o", True)],
            deletionTimestamp="2026-01-01T00:00:00Z",
            finalizers=["x/y", FOREGROUND],
        ),
    )
    assert node is not None
    assert node.owners == (Owner("uid-o", "v1", "Secret", "o", True),)
    assert node.deleting
    assert node.policy == FOREGROUND


def test_orphaning_comes_before_the_foreground() -> None:
    marked = entry("a", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=[FOREGROUND, ORPHAN])
    node = node_of(b"/configmaps/", marked)
    assert node is not None
    assert node.policy == ORPHAN


names = st.sampled_from("abcdef")
owners = st.lists(st.tuples(names, st.booleans()), max_size=3, unique_by=lambda each: each[0])


@given(st.lists(st.tuples(names, st.one_of(st.none(), owners), st.booleans()), max_size=40))
def test_the_graph_is_that_of_the_last_version_of_each_object(
    steps: list[tuple[str, list[tuple[str, bool]] | None, bool]],
) -> None:
    graph = Graph()
    model: dict[str, tuple[list[tuple[str, bool]], bool]] = {}
    for name, owned_by, waits in steps:
        key = name.encode()
        if owned_by is None:
            graph.remove(key)
            model.pop(name, None)
            continue
        references = tuple(Owner(owner, "v1", "K", owner, blocks) for owner, blocks in owned_by)
        graph.put(OwnershipNode(b"/", key, name, references, FOREGROUND if waits else "", waits))
        model[name] = owned_by, waits
    for owner in "abcdef":
        expected = {name.encode() for name, (owned_by, _) in model.items() if owner in dict(owned_by)}
        blocking = [name for name, (owned_by, _) in model.items() if dict(owned_by).get(owner)]
        assert set(graph.dependents(owner)) == expected
        assert graph.count(owner) == len(expected)
        assert graph.is_blocked(owner) == bool(blocking)
        assert graph.waiting.get(owner) == (owner.encode() if model.get(owner, ([], False))[1] else None)
