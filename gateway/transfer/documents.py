"""Objects in files: YAML documents, or JSON ones, in one file or one each in a directory."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from gateway.encodings.yaml import dumper
from gateway.jsontypes import JsonObject
from gateway.schema.errors import YamlError
from gateway.schema.outside import read_yaml

FORMATS = ("yaml", "json")
_SUFFIXES = (".yaml", ".yml", ".json")
_BETWEEN = re.compile(rb"^---(?:[ \t].*)?\r?$", re.MULTILINE)  # as kubectl splits


class InvalidDocument(Exception):
    """A file that holds no objects; the message says where."""


def written(obj: JsonObject, format: str) -> bytes:
    """One document; several of them, one after the other, are a stream."""
    if format == "json":
        return json.dumps(obj, ensure_ascii=False, indent=2).encode() + b"\n"
    import yaml

    text = yaml.dump(obj, Dumper=_dumper(), allow_unicode=True, sort_keys=False, encoding="utf-8", width=2**20)
    return b"---\n" + bytes(text)


@cache
def _dumper() -> Any:
    """Writes texts of many lines as they are."""

    class Dumper(dumper()):  # type: ignore[misc]  # made at run time
        pass

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper


class StreamSink:
    """One file, or standard output."""

    def __init__(self, file: BinaryIO, format: str) -> None:
        self._file, self._format = file, format

    def put(self, resource: str, obj: JsonObject) -> None:
        self._file.write(written(obj, self._format))


class DirectorySink:
    """A file each: NAMESPACE/RESOURCE/NAME.yaml, and _cluster/RESOURCE/NAME.yaml of what has no namespace."""

    def __init__(self, directory: Path, format: str) -> None:
        self._directory, self._format = directory, format

    def put(self, resource: str, obj: JsonObject) -> None:
        metadata = obj["metadata"]
        place = self._directory / _safe(metadata.get("namespace") or "_cluster") / _safe(resource)
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{_safe(metadata['name'])}.{self._format}"
        path.touch(0o600)  # secrets are among them
        path.write_bytes(written(obj, self._format))


def _safe(name: str) -> str:
    """No name of a server's leads out of the directory."""
    return name.replace("/", "%2F").replace("\0", "%00") if name.strip(".") else "%2E" * len(name)


def read_all(paths: list[Path]) -> Iterator[tuple[str, JsonObject]]:
    """The objects of files, of directories with all below, and of standard input (-), each with where it is from.

    Lists are taken apart. Raises InvalidDocument, and OSError.
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
        raise InvalidDocument(f"{place}: it is no JSON: {error}") from None


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
