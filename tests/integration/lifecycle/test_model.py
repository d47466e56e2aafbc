"""Random sequences of create, own, adopt, finalize, delete and orphan end in the state that a model predicts.

After each step the test waits for all its effects, so that the model needs no times.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from apiserver_gateway.testing import ApiServer
from tests.examples import examples
from tests.integration.lifecycle.api import Api, reference
from tests.until import until

NAMES = [f"o{number}" for number in range(6)]
HOLD = "example.com/hold"
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


@dataclass
class Thing:
    """An object in the model."""

    uid: str
    owners: dict[str, bool] = field(default_factory=dict)  # maps the owner's uid to blockOwnerDeletion
    held: bool = False
    marked: bool = False
    policy: str = ""


class Model:
    """The expected state of all objects."""

    def __init__(self) -> None:
        self.things: dict[str, Thing] = {}

    def by_uid(self, uid: str) -> Thing | None:
        return next((thing for thing in self.things.values() if thing.uid == uid), None)

    def dependents(self, uid: str) -> list[str]:
        return [name for name, thing in self.things.items() if uid in thing.owners]

    def delete(self, name: str, policy: str) -> None:
        thing = self.things[name]
        thing.policy = {"Foreground": FOREGROUND, "Orphan": ORPHAN}.get(policy, "")
        if thing.held or thing.policy:
            thing.marked = True
        else:
            del self.things[name]

    def settle(self) -> None:
        """Applies the rules until none changes anything. Owners wait until all dependents were examined."""
        while self._step():
            pass

    def _step(self) -> bool:
        names = list(self.things)
        return any(self._collect(name) for name in names) or any(self._end(name) for name in names)

    def _end(self, name: str) -> bool:
        """Deletes an object that was waiting for its dependents."""
        thing = self.things[name]
        if not thing.marked:
            return False
        if thing.policy == ORPHAN:
            for dependent in self.dependents(thing.uid):
                del self.things[dependent].owners[thing.uid]
            thing.policy = ""
            self._remove(name)
            return True
        blocking = [each for each in self.dependents(thing.uid) if self.things[each].owners[thing.uid]]
        if thing.policy == FOREGROUND and not blocking:
            thing.policy = ""
            self._remove(name)
            return True
        return False

    def _remove(self, name: str) -> None:
        if not self.things[name].held:
            del self.things[name]

    def _collect(self, name: str) -> bool:
        """Deletes an object without remaining owners, else removes its references to absent owners."""
        thing = self.things[name]
        if thing.marked or not thing.owners:
            return False
        owners = {uid: self.by_uid(uid) for uid in thing.owners}
        waiting = [uid for uid, owner in owners.items() if owner and owner.marked and owner.policy == FOREGROUND]
        solid = [uid for uid, owner in owners.items() if owner and uid not in waiting]
        if solid:
            if len(solid) == len(owners):
                return False
            thing.owners = {uid: thing.owners[uid] for uid in solid}
            return True
        dependents = self.dependents(thing.uid)
        policy = ""
        if waiting and dependents:
            policy = "Foreground"
            if any(self.things[each].marked and self.things[each].policy == FOREGROUND for each in dependents):
                thing.owners = dict.fromkeys(thing.owners, False)
        self.delete(name, policy or "Background")
        return True


class Lifecycle(RuleBasedStateMachine):
    """Does each step on a server and in the model."""

    server: ApiServer

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.server, f"m-{uuid.uuid4().hex[:8]}").begin()
        self.model = Model()

    @contextmanager
    def step(self) -> Iterator[None]:
        yield
        self.model.settle()
        until(self.agree)

    def agree(self) -> bool:
        """Whether the server's objects are those of the model.

        An object that is being deleted may lack references to absent owners. The server removes these while another
        owner exists, which may be deleted right after.
        """
        seen, expected = self.seen(), self.expected()
        if seen.keys() != expected.keys():
            return False
        for name, (owners, *rest) in expected.items():
            found, *others = seen[name]
            missing = owners - found if self.model.things[name].marked else frozenset[str]()
            if others != rest or found | missing != owners or any(map(self.model.by_uid, missing)):
                return False
        return True

    def expected(self) -> dict[str, tuple[frozenset[str], bool, bool, str]]:
        return {
            name: (frozenset(thing.owners), thing.held, thing.marked, thing.policy)
            for name, thing in self.model.things.items()
        }

    def seen(self) -> dict[str, tuple[frozenset[str], bool, bool, str]]:
        found = {}
        for item in self.api.ask("GET", self.api.path()).json["items"]:
            meta = item["metadata"]
            finalizers = meta.get("finalizers", [])
            if meta["name"] in NAMES:
                found[meta["name"]] = (
                    frozenset(each["uid"] for each in meta.get("ownerReferences", ())),
                    HOLD in finalizers,
                    "deletionTimestamp" in meta,
                    next((name for name in (ORPHAN, FOREGROUND) if name in finalizers), ""),
                )
        return found

    def has_any(self) -> bool:
        return bool(self.model.things)

    def one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.things)))

    @rule(name=st.sampled_from(NAMES), held=st.booleans(), data=st.data())
    def create(self, name: str, held: bool, data: st.DataObject) -> None:
        if name in self.model.things:
            return
        chosen = (
            data.draw(st.lists(st.sampled_from(sorted(self.model.things)), max_size=2, unique=True))
            if self.has_any()
            else []
        )
        blocks = data.draw(st.booleans())
        owners = [(self.api.get(owner), blocks) for owner in chosen]
        with self.step():
            made = self.api.create(name, owners, **({"finalizers": [HOLD]} if held else {}))
            uids = {self.model.things[owner].uid: blocks for owner in chosen}
            self.model.things[name] = Thing(made["metadata"]["uid"], uids, held)

    @precondition(has_any)
    @rule(data=st.data(), blocks=st.booleans())
    def adopt(self, data: st.DataObject, blocks: bool) -> None:
        name, owner = self.one(data), self.one(data)
        thing, its_owner = self.model.things[name], self.model.things[owner]
        if name == owner or thing.marked or its_owner.marked or its_owner.uid in thing.owners:
            return
        present = self.api.get(name)
        assert present is not None
        references = [*present["metadata"].get("ownerReferences", ()), reference(self.api.get(owner) or {}, blocks)]
        with self.step():
            self.api.patch(name, {"ownerReferences": references})
            thing.owners[its_owner.uid] = blocks

    @precondition(has_any)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        name = self.one(data)
        thing = self.model.things[name]
        if not thing.held:
            return
        present = self.api.get(name)
        assert present is not None
        finalizers = [each for each in present["metadata"]["finalizers"] if each != HOLD]
        with self.step():
            self.api.patch(name, {"finalizers": finalizers or None})
            thing.held = False
            if thing.marked and not thing.policy:
                del self.model.things[name]

    @precondition(has_any)
    @rule(data=st.data(), policy=st.sampled_from(["Background", "Foreground", "Orphan"]))
    def delete(self, data: st.DataObject, policy: str) -> None:
        name = self.one(data)
        if self.model.things[name].marked:
            return
        with self.step():
            assert self.api.delete(name, policy).status == 200
            self.model.delete(name, policy)


def test_what_the_rules_say_is_what_becomes_of_the_objects(server: ApiServer) -> None:
    Lifecycle.server = server
    run(examples(12, costs=10))


def run(count: int) -> None:
    """Tries that many sequences."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    limits = settings(max_examples=count, stateful_step_count=20, deadline=None, suppress_health_check=checks)
    run_state_machine_as_test(Lifecycle, settings=limits)
