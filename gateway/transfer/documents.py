"""Objects in files: YAML or JSON documents, all in one file, or one file each in a directory."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from gateway.encodings.yaml import dumper
from gateway.jsontypes import JsonObject
from gateway.schema.errors import YamlError
from gateway.schema.outside import read_yaml

FORMATS = ("yaml", "json")
_SUFFIXES = (".yaml", ".yml", ".json")
_BETWEEN = re.compile(rb"^---(?:[ \t].*)?\r?$", re.MULTILINE)  # as kubectl splits


class InvalidDocument(Exception):
    """A file has a document that is not an object; the message names the file."""


def written(obj: JsonObject, format: str) -> bytes:
    """An object as one document in "yaml" or "json". Documents can be concatenated to a stream."""
    if format == "json":
        return json.dumps(obj, ensure_ascii=False, indent=2).encode() + b"\n"
    text = yaml.dump(obj, Dumper=_dumper(), allow_unicode=True, sort_keys=False, encoding="utf-8", width=2**20)
    return b"---\n" + bytes(text)


@cache
def _dumper() -> Any:
    """A YAML dumper that writes texts of several lines as literal blocks."""

    class Dumper(dumper()):  # type: ignore[misc]  # made at run time
        pass

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper


class StreamSink:
    """Writes all objects to one file, or to standard output."""

    def __init__(self, file: BinaryIO, format: str) -> None:
        self._file, self._format = file, format

    def put(self, resource: str, obj: JsonObject) -> None:
        self._file.write(written(obj, self._format))


class DirectorySink:
    """Writes a file per object: NAMESPACE/RESOURCE/NAME.yaml, or _cluster/RESOURCE/NAME.yaml without a namespace."""

    def __init__(self, directory: Path, format: str) -> None:
        self._directory, self._format = directory, format

    def put(self, resource: str, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        place = self._directory / _safe(metadata.get("namespace") or "_cluster") / _safe(resource)
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{_safe(metadata['name'])}.{self._format}"
        path.touch(0o600)  # the object may be a Secret
        path.write_bytes(written(obj, self._format))


def _safe(name: str) -> str:
    """A name that is safe as a path segment, so that no object of a server leads out of the directory."""
    return name.replace("/", "%2F").replace("\0", "%00") if name.strip(".") else "%2E" * len(name)


def read_all(paths: list[Path]) -> Iterator[tuple[str, JsonObject]]:
    """Yields the objects of files, of directories (recursively) and of standard input (-), each with its source.

    A List yields its items. Raises InvalidDocument, OSError.
    """
    for path in paths:
        if str(path) == "-":
            yield from _objects("standard input", sys.stdin.buffer.read())
        elif path.is_dir():
            for file in sorted(each for each in path.rglob("*") if each.suffix in _SUFFIXES and each.is_file()):
                yield from _objects(str(file), file.read_bytes())
        else:
            yield from _objects(str(path), path.read_bytes())


def _objects(place: str, data: bytes) -> Iterator[tuple[str, JsonObject]]:
    documents = _json(place, data) if data.lstrip()[:1] == b"{" else _yaml(place, data)
    for found in documents:
        if found is None:
            continue
        items = found.get("items") if isinstance(found, dict) and str(found.get("kind")).endswith("List") else None
        for each in items if isinstance(items, list) else [found]:
            metadata = each.get("metadata") if isinstance(each, dict) else None
            if not isinstance(metadata, dict) or not (each.get("kind") and each.get("apiVersion")):
                raise InvalidDocument(f"{place}: an object needs apiVersion, kind and metadata")
            if not isinstance(metadata.get("name"), str) or not metadata["name"]:
                raise InvalidDocument(f"{place}: a {each['kind']} has no metadata.name")
            yield place, each


def _json(place: str, data: bytes) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    try:
        text, at = data.decode(), 0
        while (at := len(text) - len(text[at:].lstrip())) < len(text):
            found, at = decoder.raw_decode(text, at)
            yield found
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"{place}: it is not valid JSON: {error}") from None


def _yaml(place: str, data: bytes) -> Iterator[Any]:
    for part in _BETWEEN.split(data):
        if not part.strip():
            continue
        try:
            found, duplicates = read_yaml(part)
        except (YamlError, ValueError) as error:
            raise InvalidDocument(f"{place}: {' '.join(str(error).split())}") from None
        if duplicates:
            raise InvalidDocument(f"{place}: {duplicates[0]}")
        yield found
