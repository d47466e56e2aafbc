"""The official Python client: objects, lists in chunks, a watch that resumes, and the informer."""
# mypy: disable-error-code="no-untyped-call"
# (the client has no types)

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer

from apiserver_gateway.testing import ApiServer
from tests.until import until

PATIENCE = 60


@pytest.fixture
def core(server: ApiServer, namespace: str) -> Iterator[Any]:
    """The client of the core group, in the test's namespace, which exists."""
    with config.new_client_from_config(str(server.kubeconfig)) as connection:
        api = client.CoreV1Api(connection)
        api.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
        yield api


def config_map(name: str, **data: str) -> Any:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "test"}), data=data)


def test_objects(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("one", colour="blue"))
    core.patch_namespaced_config_map("one", namespace, {"data": {"size": "small"}})
    one = core.read_namespaced_config_map("one", namespace)
    assert one.data == {"colour": "blue", "size": "small"}
    one.data = {"colour": "red"}
    core.replace_namespaced_config_map("one", namespace, one)
    with pytest.raises(client.ApiException) as refused:
        core.replace_namespaced_config_map("one", namespace, one)
    assert refused.value.status == 409
    core.delete_namespaced_config_map("one", namespace)
    with pytest.raises(client.ApiException) as missing:
        core.read_namespaced_config_map("one", namespace)
    assert missing.value.status == 404


def test_lists_in_chunks(core: Any, namespace: str) -> None:
    for number in range(7):
        core.create_namespaced_config_map(namespace, config_map(f"chunk-{number}"))
    names, token = [], None
    while token != "":
        chunk = core.list_namespaced_config_map(namespace, limit=3, _continue=token)
        names += [item.metadata.name for item in chunk.items]
        token = chunk.metadata._continue or ""
    assert names == [f"chunk-{number}" for number in range(7)]


def test_deployments_and_their_scale(core: Any, namespace: str) -> None:
    apps = client.AppsV1Api(core.api_client)
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "web"}),
        spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")]),
    )
    selector = client.V1LabelSelector(match_labels={"app": "web"})
    spec = client.V1DeploymentSpec(replicas=1, selector=selector, template=template)
    apps.create_namespaced_deployment(
        namespace, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    )
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 4}})
    assert apps.read_namespaced_deployment("web", namespace).spec.replicas == 4


def test_a_watch_goes_on_from_a_list(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, config_map("before"))
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("after"))
    core.patch_namespaced_config_map("after", namespace, {"data": {"colour": "blue"}})
    core.delete_namespaced_config_map("before", namespace)
    events = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=start, timeout_seconds=PATIENCE
    )
    seen = [(event["type"], event["object"].metadata.name) for event in islice(events, 3)]
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "before")]


def test_the_informer_follows(core: Any, namespace: str) -> None:
    before = threading.active_count()
    core.create_namespaced_config_map(namespace, config_map("before"))
    seen: queue.Queue[tuple[str, str]] = queue.Queue()
    # a resync ends the informer's watch every second, so that it resumes
    informer = SharedInformer(core.list_namespaced_config_map, namespace, resync_period=1, label_selector="app=test")
    for event in (ADDED, MODIFIED, DELETED):
        informer.add_event_handler(event, lambda found, event=event: seen.put((event, found.metadata.name)))
    informer.start()
    try:
        assert seen.get(timeout=PATIENCE) == (ADDED, "before")
        core.create_namespaced_config_map(namespace, config_map("after"))
        until_told(seen, (ADDED, "after"))
        core.patch_namespaced_config_map("after", namespace, {"data": {"colour": "blue"}})
        until_told(seen, (MODIFIED, "after"))
        core.patch_namespaced_config_map("before", namespace, {"metadata": {"labels": {"app": "other"}}})
        until_told(seen, (DELETED, "before"))  # it does not match the selector any more
        until(lambda: informer.cache.list_keys() == [f"{namespace}/after"])  # a resync tells before it forgets
    finally:
        informer.stop()
    assert threading.active_count() < before + 20


def until_told(seen: queue.Queue[tuple[str, str]], wanted: tuple[str, str]) -> None:
    """Waits for an event. A resync may send others before. Raises queue.Empty."""
    while seen.get(timeout=PATIENCE) != wanted:
        pass


def test_the_dynamic_client_finds_its_way_by_discovery(core: Any, namespace: str, tmp_path: Path) -> None:
    """And not by a discovery file in the cache of a client of another server with the same address."""
    from kubernetes.dynamic import DynamicClient

    dynamic = DynamicClient(core.api_client, cache_file=str(tmp_path / "discovery.json"))
    leases = dynamic.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}}
    leases.create(namespace=namespace, body={**lease, "spec": {"holderIdentity": "one"}})
    leases.server_side_apply(
        namespace=namespace,
        body={**lease, "spec": {"holderIdentity": "two"}},
        field_manager="two",
        force_conflicts=True,
    )
    assert leases.get(namespace=namespace, name="leader").spec.holderIdentity == "two"
