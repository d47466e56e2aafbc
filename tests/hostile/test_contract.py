"""Sends a few requests for each operation of the served OpenAPI documents. tests.hostile.contract can send more."""

from __future__ import annotations

from apiserver_gateway.testing import ApiServer
from tests.hostile.contract import Contract, check

CASES = 120


def test_answers_are_those_of_the_documents(server: ApiServer) -> None:
    contract = Contract(server)
    findings = check(contract, CASES, 1)
    assert not findings.broken, "\n\n".join(findings.broken[:5])
    assert findings.cases == CASES
    assert findings.statuses[200] + findings.statuses[201] > CASES / 4
