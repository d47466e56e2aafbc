"""Installs the CustomResourceDefinitions of a test, from files or mappings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apiserver_gateway.testing.connections import Server
from apiserver_gateway.testing.requests import Refused, ask
from apiserver_gateway.testing.waiting import condition, wait_for

KIND = "CustomResourceDefinition"
PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ENDINGS = (".yaml", ".yml", ".json")

Definition = Mapping[str, Any]


def install(server: Server, *definitions: Definition | str | Path) -> None:
    """Creates CustomResourceDefinitions, or replaces existing ones, and waits until they are served.

    Each argument is a definition, the path of a YAML or JSON file, or a directory of such files. Raises Refused,
    TimeoutError, OSError for a missing file, and ValueError for a file without a definition.
    """
    __tracebackhide__ = True
    found = [each for given in definitions for each in _given(given)]
    for definition in found:
        _put(server, definition)
    for definition in found:
        wait_for(server, f"{PATH}/{definition['metadata']['name']}", condition("Established"))


def _put(server: Server, definition: Definition) -> None:
    __tracebackhide__ = True
    try:
        ask(server, "POST", PATH, definition)
    except Refused as refused:
        if refused.status != 409:
            raise
        path = f"{PATH}/{definition['metadata']['name']}"
        version = ask(server, "GET", path)["metadata"]["resourceVersion"]
        ask(server, "PUT", path, {**definition, "metadata": {**definition["metadata"], "resourceVersion": version}})


def _given(given: Definition | str | Path) -> list[Definition]:
    __tracebackhide__ = True
    if isinstance(given, Mapping):
        if not _is_definition(given):
            raise ValueError(f"install() takes {KIND}s with a name; this is {json.dumps(given, default=str)[:200]}")
        return [given]
    path = Path(given)
    if not path.exists():
        raise FileNotFoundError(f"{path.absolute()} does not exist")
    files = sorted(each for each in path.iterdir() if each.suffix in ENDINGS) if path.is_dir() else [path]
    found = [each for file in files for each in _documents(file) if _is_definition(each)]
    if not found:
        raise ValueError(f"{path.absolute()} has no {KIND}")
    return found


def _documents(file: Path) -> Iterator[Any]:
    __tracebackhide__ = True
    if file.suffix == ".json":
        yield json.loads(file.read_bytes())
        return
    import yaml

    try:
        yield from yaml.safe_load_all(file.read_bytes())
    except yaml.YAMLError as error:
        raise ValueError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from None


def _is_definition(found: Any) -> bool:
    if not isinstance(found, Mapping) or found.get("kind", KIND) != KIND:
        return False
    metadata = found.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("name"))
