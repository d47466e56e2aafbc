"""A process may serve two releases: each has its own kinds, types, rules and documents, also in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gateway.discovery.documents import storage_version_hash
from gateway.http.thread_pool import beside
from gateway.kinds.builtin import builtin_registry
from gateway.openapi.meta_kinds import CORE
from gateway.openapi.schemas import schemas_of
from gateway.release.minors import CATALOGS, CATALOGUED, DEFAULT, GIT_VERSIONS
from gateway.release.release import release_of
from gateway.schema.catalog import META, catalog_of, served, serving, type_for
from gateway.schema.encode import encode_answer

MOUNT = "io.k8s.api.core.v1.VolumeMount"
OWN = next(iter(CATALOGS))  # a minor with a catalog of its own: its pods have spec.volumes[].bindMountOptions
MINORS = (OWN, CATALOGUED)


def has_new_field() -> bool:
    return "bindMountOptions" in served().type_of(MOUNT).fields


def is_described() -> bool:
    return "bindMountOptions" in schemas_of([MOUNT], CORE)[MOUNT]["properties"]


async def in_thread(work: Callable[[], bool]) -> bool:
    return await asyncio.to_thread(work)


@pytest.mark.parametrize("ask", [has_new_field, is_described])
@pytest.mark.parametrize("run", [in_thread, beside])
async def test_two_tasks_have_the_types_of_their_releases_also_in_threads(ask: Any, run: Any) -> None:
    met = asyncio.Barrier(2)

    async def serve(minor: str) -> list[bool]:
        with serving(minor):
            before = ask()
            await met.wait()
            task = asyncio.ensure_future(run(ask))
            return [before, ask(), await run(ask), await task]

    found = await asyncio.gather(*map(serve, MINORS))
    assert found == [[True] * 4, [False] * 4]
    assert served() is catalog_of(DEFAULT)


def test_two_registries_have_the_kinds_types_and_hashes_of_their_releases() -> None:
    found = {}
    for minor in MINORS:
        with serving(minor):
            found[minor] = builtin_registry(release=release_of((), minor))
    policies = {
        minor: registry.get("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies")
        for minor, registry in found.items()
    }
    assert len({storage_version_hash(each) for each in policies.values() if each}) == 2
    pods = {minor: registry.get("", "v1", "pods") for minor, registry in found.items()}
    assert [pods[minor].type is catalog_of(minor).type_for("", "v1", "Pod") for minor in MINORS] == [True, True]


def test_an_object_is_written_in_the_order_of_its_release() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": []}}
    for minor in MINORS:
        with serving(minor):
            assert encode_answer(dict(pod), "Pod", "v1").startswith(b'{"kind":"Pod","apiVersion":"v1","metadata":')
            assert type_for("", "v1", "Pod") is catalog_of(minor).type_for("", "v1", "Pod")


@pytest.mark.parametrize(
    "name", ["ObjectMeta", "ListMeta", "Status", "PartialObjectMetadata", "DeleteOptions", "Condition"]
)
def test_types_that_modules_keep_are_the_same_in_each_release(name: str) -> None:
    """Modules make readers and writers of these types once."""
    assert len({str(catalog_of(minor).document["types"][META + name]) for minor in GIT_VERSIONS}) == 1


@pytest.mark.parametrize("name", ["Toleration", "PersistentVolumeSpec", "PersistentVolumeClaimSpec"])
def test_types_of_pods_that_modules_keep_are_the_same_in_each_release(name: str) -> None:
    assert len({str(catalog_of(minor).document["types"][f"io.k8s.api.core.v1.{name}"]) for minor in GIT_VERSIONS}) == 1
