"""Long lists and maps of built-in kinds cost no more than their share: the known cases, and a sample of all fields.

`python -m tests.hostile.growing` tries all fields; `make hostile` tries a part of them.
"""

from __future__ import annotations

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.entries import Entries
from tests.hostile.growing import SIZE, Search, Way

FAULTS = [
    ("v1/Pod:spec.containers.0.ports", Way.POST, Entries.EQUAL),
    ("v1/Pod:spec.volumes.0.configMap.items", Way.POST, Entries.EQUAL),
    ("v1/Pod:spec.volumes.0.projected.sources", Way.APPLY, Entries.DISTINCT),
    ("v1/Pod:spec.resourceClaims", Way.POST, Entries.DISTINCT),
    ("apps/v1/Deployment:spec.template.spec.containers.0.ports", Way.PUT, Entries.EQUAL),
    ("v1/ResourceQuota:spec.scopes", Way.PUT, Entries.WRONG),
    ("v1/ResourceQuota:spec.scopeSelector.matchExpressions", Way.POST, Entries.EQUAL),
    ("storage.k8s.io/v1/StorageClass:allowedTopologies", Way.POST, Entries.WRONG),
    ("v1/Node:status.addresses", Way.STATUS, Entries.DISTINCT),
    ("apiextensions.k8s.io/v1/CustomResourceDefinition:status.conditions", Way.STATUS, Entries.DISTINCT),
    ("admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy:spec.variables", Way.PUT, Entries.DISTINCT),
    ("admissionregistration.k8s.io/v1/MutatingWebhookConfiguration:webhooks", Way.MERGE, Entries.EQUAL),
    ("authorization.k8s.io/v1/SubjectAccessReview:spec.groups", Way.POST, Entries.DISTINCT),
    ("authentication.k8s.io/v1/TokenReview:spec.audiences", Way.POST, Entries.DISTINCT),
]
LARGER = {"v1/Pod:spec.volumes.0.projected.sources": 6000}  # what else is done for each entry hides a smaller number
SAMPLE, PARTS = 401, 4  # one of SAMPLE tries, spread over PARTS tests


@pytest.fixture(scope="module")
def search(module_server: ApiServer) -> Search:
    return Search(module_server)


@pytest.mark.parametrize(("name", "way", "entries"), FAULTS, ids=lambda value: str(getattr(value, "name", value)))
def test_fields_that_cost_too_much_once(
    server: ApiServer, search: Search, name: str, way: Way, entries: Entries
) -> None:
    field = next(each for each in search.fields if each.name == name)
    assert search.judge(field, way, entries, LARGER.get(name, SIZE)) != "too long"


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sample_of_all_fields(server: ApiServer, search: Search, part: int) -> None:
    tries = [(field, *one) for field in search.fields for one in search.tries(field)]
    chosen = tries[part * SAMPLE // PARTS :: SAMPLE]
    assert len(chosen) > 10
    for field, way, entries in chosen:
        search.judge(field, way, entries)
