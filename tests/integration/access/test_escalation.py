"""Users with random rights try to gain more by every kind of write, and never get a right that was not granted.

After each successful step: its sender had all required rights; a user who got rights got them from a user who could
grant them; credentials are those of the named account. `granted.py` computes the granted rights.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from apiserver_gateway.testing import ApiServer, restore, snapshot
from gateway.controllers.role_aggregation import outdated
from tests.examples import examples
from tests.forked import api_server
from tests.integration.access import attempts
from tests.integration.access.attempts import ACTORS, CERTIFICATES, KINDS, LABEL, RBAC, VICTIM, Step
from tests.integration.access.granted import Granted, Principal, Right
from tests.integration.access.needed import account, asked, carried_out_as, is_to_be_signed, rights, signer_rights
from tests.integration.server.client import Answer, connect
from tests.until import until

HOME = "escalation"
REQUESTS = f"/apis/{CERTIFICATES}/v1/certificatesigningrequests"
EVERYBODY = (
    *(account(HOME, name) for name in (*ACTORS, VICTIM)),
    Principal("eve", frozenset(["system:authenticated"])),
    Principal("eve", frozenset(["gang", "system:authenticated"])),
)
PROBES = [
    *(Right(verb, RBAC, kind, space) for verb, kind, space in product(
        ("create", "patch", "bind", "escalate"), KINDS.values(), ("", HOME))),
    *(Right(verb, "", kind, space) for verb, kind, space in product(
        ("get", "create", "delete"), ("secrets", "pods", "serviceaccounts/token"), ("", HOME))),
    *(Right("impersonate", "", kind) for kind in ("users", "groups", "serviceaccounts")),
    *(Right(verb, CERTIFICATES, "signers", "", name) for verb, name in product(("approve", "sign"), attempts.SIGNERS)),
    Right("update", CERTIFICATES, "certificatesigningrequests/approval"),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    with api_server() as running:
        yield running


def test_nobody_ever_holds_a_right_that_was_not_granted(server: ApiServer) -> None:
    before = snapshot(server)

    class Escalation(Attempts):
        def __init__(self) -> None:
            restore(server, before)
            super().__init__(server)

    run_state_machine_as_test(
        Escalation,
        settings=settings(
            max_examples=examples(8, costs=4),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    restore(server, before)


class Attempts(RuleBasedStateMachine):
    """The attempts on one server. `state` is what was granted after the last step, when all controllers had
    finished.
    """

    def __init__(self, server: ApiServer) -> None:
        super().__init__()
        self._connection = connect(server)
        self._tokens = {"": server.token}
        self.state: Granted
        self.requests: dict[str, Any]

    def teardown(self) -> None:
        self._connection.close()

    @initialize(pick=st.randoms(use_true_random=False))
    def actors_have_some_rights(self, pick: random.Random) -> None:
        for step in attempts.prepared(pick, HOME):
            assert self._send(step).status < 500, str(step)
        for name in ACTORS:
            answer = self._send(Step("", "POST", f"/api/v1/namespaces/{HOME}/serviceaccounts/{name}/token", {}))
            self._tokens[name] = answer.json["status"]["token"]
        self._settle()

    @rule(pick=st.randoms(use_true_random=False))
    def somebody_attempts(self, pick: random.Random) -> None:
        step = attempts.step(pick, HOME)
        before, requests = self.state, self.requests
        answer = self._send(step)
        assert answer.status < 500, f"{step}: {answer.body.decode()}"
        if answer.status >= 300 or (step.method == "GET" and not step.actor):
            return
        self._settle()
        if not step.actor:
            return
        who = carried_out_as(step, account(HOME, step.actor), before)
        assert who is not None, f"{step} was carried out as somebody whom its sender may not be"
        for right in rights(step, answer.status == 201):
            assert before.allows(who, right), f"{step} was carried out without {right}"
        self._check_gains(step, who, before)
        self._check_request(step, who, requests, before)
        self._check_token(step, answer)

    def _check_gains(self, step: Step, who: Principal, before: Granted) -> None:
        for each, right in product(EVERYBODY, PROBES):
            if self.state.allows(each, right) and not before.allows(each, right):
                assert before.can_give(who, right), f"{step} gave {each.name} {right}"

    def _check_request(self, step: Step, who: Principal, requests: dict[str, Any], before: Granted) -> None:
        """The user who approves or signs has that right for the signer, and a request names its creator."""
        right = asked(step)
        if not right.resource.startswith("certificatesigningrequests"):
            return
        name = right.name or (step.body or {}).get("metadata", {}).get("name", "")
        after = self.requests.get(name)
        if "/" in right.resource:
            for one, all_of_domain in signer_rights(requests.get(name), after):
                allowed = before.allows(who, one) or before.allows(who, all_of_domain)
                assert allowed, f"{step} was carried out without {one}"
        elif after is not None and name not in requests:
            assert after["spec"]["username"] == who.name, f"{step} made a request in another's name"
            assert set(after["spec"]["groups"]) == who.groups

    def _check_token(self, step: Step, answer: Answer) -> None:
        """A token belongs to the account that it was requested for, or that its secret names, in the same namespace."""
        right = asked(step)
        if right.resource == "serviceaccounts/token":
            token, owner = answer.json["status"]["token"], right.name
        elif right.resource == "secrets" and (answer.json.get("data") or {}).get("token"):
            token = base64.b64decode(answer.json["data"]["token"]).decode()
            owner = answer.json["metadata"]["annotations"]["kubernetes.io/service-account.name"]
        else:
            return
        review = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": token}}
        status = self._send(Step("", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)).json["status"]
        if status.get("authenticated"):
            assert status["user"]["username"] == attempts.username(HOME, owner), str(step)

    def _settle(self) -> None:
        """Waits for the aggregation of roles and for the signer, then computes what is granted."""

        def settled() -> bool:
            objects = {plural: self._items(f"/apis/{RBAC}/v1/{plural}") for plural in KINDS.values()}
            self.state = Granted(objects)
            there = self._items(f"{REQUESTS}?labelSelector={LABEL}")
            self.requests = {each["metadata"]["name"]: each for each in there}
            return not any(map(is_to_be_signed, there)) and not list(
                outdated({each["metadata"]["name"]: each for each in objects["clusterroles"]})
            )

        until(settled)

    def _items(self, path: str) -> list[Any]:
        found: list[Any] = self._send(Step("", "GET", path)).json["items"]
        return found

    def _send(self, step: Step) -> Answer:
        headers = {"Authorization": f"Bearer {self._tokens[step.actor]}", "Content-Type": step.media}
        body = None if step.body is None else json.dumps(step.body)
        self._connection.request(step.method, step.path, body, headers | dict(step.headers))
        response = self._connection.getresponse()
        return Answer(response.status, {}, response.read())
