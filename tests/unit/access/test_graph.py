"""A node may read what its pods and their volumes name, as long as they do, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.access.nodes.graph import NodeGraph, VertexType
from gateway.access.nodes.identity import node_of
from gateway.access.nodes.references import MIRROR
from gateway.http.user import User


def pod(name: str, node: str, *secrets: str, claim: str = "", mirror: bool = False) -> dict[str, Any]:
    volumes: list[Any] = [{"name": each, "secret": {"secretName": each}} for each in secrets]
    volumes += [{"name": "c", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    spec = {"nodeName": node, "serviceAccountName": "robot", "volumes": volumes, "containers": []}
    meta: dict[str, Any] = {"namespace": "n", "name": name}
    return {"metadata": meta | ({"annotations": {MIRROR: "x"}} if mirror else {}), "spec": spec}


def volume(name: str, claim: str, secret: str) -> dict[str, Any]:
    source = {"driver": "d", "nodePublishSecretRef": {"namespace": "n", "name": secret}}
    spec = {"csi": source, "claimRef": {"namespace": "n", "name": claim}}
    return {"metadata": {"name": name}, "spec": spec}


def may(graph: NodeGraph, node: str, plural: str, name: str, namespace: str = "n") -> bool:
    return asyncio.run(graph.is_related(node, plural, namespace, name))


@pytest.mark.parametrize(("plural", "name"), [("pods", "p"), ("secrets", "s"), ("serviceaccounts", "robot")])
def test_a_node_reads_what_its_pods_name(plural: str, name: str) -> None:
    graph = NodeGraph()
    graph.put(VertexType.POD, pod("p", "a", "s"))
    assert may(graph, "a", plural, name)
    assert not may(graph, "b", plural, name)
    assert not may(graph, "a", plural, name, "other")
    assert not may(graph, "a", plural, "other")


def test_a_mirror_pod_names_nothing() -> None:
    graph = NodeGraph()
    graph.put(VertexType.POD, pod("p", "a", "s", mirror=True))
    assert may(graph, "a", "pods", "p") and not may(graph, "a", "secrets", "s")


def test_it_reads_them_until_the_last_pod_has_gone() -> None:
    graph = NodeGraph()
    graph.put(VertexType.POD, pod("p", "a", "s"))
    graph.put(VertexType.POD, pod("q", "a", "s"))
    graph.put(VertexType.POD, pod("p", "a"))
    assert may(graph, "a", "secrets", "s")
    graph.drop(VertexType.POD, ("n", "q"))
    assert not may(graph, "a", "secrets", "s") and not may(graph, "a", "pods", "q")
    assert may(graph, "a", "pods", "p")


def test_it_reads_the_volumes_of_its_claims_and_their_secrets() -> None:
    graph = NodeGraph()
    graph.put(VertexType.POD, pod("p", "a", claim="c"))
    graph.put(VertexType.VOLUME, volume("v", "c", "s"))
    graph.put(VertexType.VOLUME, volume("w", "d", "t"))
    assert may(graph, "a", "persistentvolumes", "v", "") and may(graph, "a", "secrets", "s")
    assert not may(graph, "a", "persistentvolumes", "w", "") and not may(graph, "a", "secrets", "t")
    assert not may(graph, "b", "persistentvolumes", "v", "") and not may(graph, "b", "secrets", "s")
    graph.drop(VertexType.VOLUME, ("", "v"))
    assert not may(graph, "a", "persistentvolumes", "v", "") and not may(graph, "a", "secrets", "s")


def test_what_names_its_node_is_read_by_that_node() -> None:
    graph = NodeGraph()
    for kind in (VertexType.ATTACHMENT, VertexType.SLICE):
        graph.put(kind, {"metadata": {"name": "x"}, "spec": {"nodeName": "a"}})
        assert may(graph, "a", kind.value[2], "x", "") and not may(graph, "b", kind.value[2], "x", "")
        graph.drop(kind, ("", "x"))
        assert not may(graph, "a", kind.value[2], "x", "")


@pytest.mark.parametrize(
    ("name", "groups", "node"),
    [
        ("system:node:a", ("system:nodes",), "a"),
        ("system:node:", ("system:nodes",), ""),
        ("system:node:a", ("others",), None),
        ("a", ("system:nodes",), None),
    ],
)
def test_a_node_has_the_name_and_the_group_of_one(name: str, groups: tuple[str, ...], node: str | None) -> None:
    assert node_of(User(name, groups)) == node
