"""The one reader of YAML: bodies, answers of webhooks and files, as the JSON that kube-apiserver makes of them.

Values are made of the parser's events without recursion, so that deep nesting does no harm. Depth, nodes, brackets and
the expansion of aliases are counted before values are made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from gateway.jsontypes import JsonObject
from gateway.schema.body import parse_body
from gateway.schema.errors import YamlError
from gateway.schema.yaml_scalars import PLAIN, go_value, json_number, key, scalar
from gateway.text.unicode import valid

__all__ = ["MAX_DEPTH", "YamlError", "parse_yaml"]

MAX_DEPTH = 1000
"""How deeply collections may nest: as libyaml has it since PyYAML 6.0.4. kube-apiserver's parser stops at 10 000."""
_TOO_DEEP = "exceeded maximum nesting depth"  # libyaml's words
MAX_EXPANDED = 8 << 20
"""Bytes that the scalars of a document may come to, each counted as often as aliases repeat it."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEP = 100
_MAX_SCANNING = 25_000_000
"""libyaml looks at all open brackets for each token; beyond `_DEEP` of them, so many looks are allowed."""

# goyaml's measure of aliases: what share of the nodes may come from them, depending on how many nodes there are
_FEW_NODES, _MANY_NODES = 400_000, 4_000_000
_SHARE_OF_FEW, _SHARE_OF_MANY = 0.99, 0.10
_FREE_ALIASED, _FREE_NODES = 100, 1000

_NO_KEY: Any = object()


def parse_yaml(data: bytes, *, alone: bool = False) -> tuple[Any, list[str]]:
    """The first document of a YAML stream as JSON, and its duplicate keys ('line 5: key "a" already set in map').

    Values that aliases repeat are shared. Raises YamlError, also for a second document where one is to be `alone`.
    """
    if data.startswith(b"{") and b"\\u" not in data:
        read, value = _as_json(data)
        if read:
            return value, []
    loader = _LOADER(data)
    builder = _Builder()
    try:
        value = builder.document(loader)
        if alone and builder.has_another(loader):
            raise YamlError("yaml: it holds several documents: give one")
        return value, builder.duplicates
    except yaml.reader.ReaderError as error:  # libyaml's own words, which goyaml has too
        raise YamlError(f"yaml: {error.reason}") from None
    except yaml.MarkedYAMLError as error:
        raise YamlError(_message(error)) from error
    except yaml.YAMLError as error:
        raise YamlError(f"yaml: {error}") from error
    except (ValueError, OverflowError) as error:  # an escape of what is no character
        raise error if isinstance(error, YamlError) else YamlError("yaml: control characters are not allowed") from None
    finally:
        loader.dispose()


def _as_json(data: bytes) -> tuple[bool, Any]:
    """Whether a body is JSON that means the same as YAML, many times faster to read, and its value.

    Duplicate keys are told by their lines, and floats may become integers: those go the way of YAML.
    """
    try:
        value, duplicates = parse_body(data)
    except ValueError:
        return False, None
    if not isinstance(value, dict) or duplicates or _has_floats(value):
        return False, None
    return True, dict(value)


def _has_floats(value: JsonObject) -> bool:
    todo: list[Iterable[Any]] = [value.values()]
    for values in todo:
        for item in values:
            kind = type(item)
            if kind is str:
                continue
            if kind is dict:
                todo.append(item.values())
            elif kind is list:
                todo.append(item)
            elif kind is float:
                return True
    return False


def _message(error: yaml.MarkedYAMLError) -> str:
    if error.problem == _TOO_DEEP:
        return f"yaml: exceeded max depth of {MAX_DEPTH}"
    mark = error.problem_mark or error.context_mark
    line = 0 if mark is None else mark.line
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    where = f"line {line}: " if line else ""
    return f"yaml: {where}{error.problem or error.context or 'unknown problem parsing YAML content'}"


class _Measured:
    """A value with what it counts for where an alias repeats it; `raw` is a scalar's YAML value."""

    __slots__ = ("height", "nodes", "raw", "size", "value")

    def __init__(self, value: Any, nodes: int, size: int, height: int, raw: Any = _NO_KEY) -> None:
        self.value, self.nodes, self.size, self.height, self.raw = value, nodes, size, height, raw


class _Open:
    """A collection that is not complete yet."""

    __slots__ = ("anchor", "before", "bracketed", "height", "key", "merging", "value")

    def __init__(self, value: Any, event: Any, before: tuple[int, int]) -> None:
        self.value, self.anchor, self.before = value, event.anchor, before
        self.bracketed = bool(event.flow_style)
        self.key: Any = _NO_KEY  # of a mapping: the key that waits for its value
        self.merging = False
        self.height = 1


class _Builder:
    """Makes JSON of events."""

    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self._anchors: dict[str, _Measured | None] = {}  # None while the anchored collection is open
        self._open: list[_Open] = []
        self._nodes = self._aliased = self._size = self._brackets = self._scanning = 0

    def document(self, loader: Any) -> Any:
        """The value of the first document, None without one."""
        while True:
            event = loader.get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                done = self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._start(event, {} if kind is yaml.MappingStartEvent else [])
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                done = self._end()
            elif kind is yaml.AliasEvent:
                done = self._alias(event)
            elif kind is yaml.StreamEndEvent:
                return None
            elif kind is yaml.DocumentStartEvent and event.version not in (None, (1, 1)):
                raise YamlError("yaml: found incompatible YAML document")
            else:
                continue
            if not self._open:
                return done.value

    def has_another(self, loader: Any) -> bool:
        """Whether another document follows the one that was read."""
        while (event := loader.get_event()) is not None:  # as it is behind the end of the stream
            if type(event) is yaml.DocumentStartEvent:
                return True
        return False

    def _scalar(self, event: yaml.ScalarEvent) -> _Measured:
        tag = event.tag
        if tag is None or tag == "!":
            tag = PLAIN if event.implicit[0] else ""
        raw = scalar(tag, valid(event.value))
        self._count(1, len(event.value))
        top = self._open[-1] if self._open else None
        if top is not None and type(top.value) is dict and top.key is _NO_KEY:
            top.key = raw
            top.merging = tag == PLAIN and raw == "<<"
            if event.anchor:
                self._anchors[event.anchor] = _Measured(raw, 1, len(event.value), 0, raw)
            return _Measured(raw, 1, 0, 0)
        done = _Measured(json_number(raw), 1, len(event.value), 0, raw)
        if event.anchor:
            self._anchors[event.anchor] = done
        if top is not None:
            self._put(top, done, event)
        return done

    def _start(self, event: Any, value: Any) -> None:
        if self._open:
            top = self._open[-1]
            if type(top.value) is dict:
                if top.key is _NO_KEY:
                    raise YamlError("yaml: invalid map key")
                if not top.merging:
                    top.key = self._checked_key(top, _NO_KEY, event)
        if len(self._open) >= MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        if event.anchor:
            self._anchors[event.anchor] = None
        self._count(1, 0)
        top = _Open(value, event, (self._nodes - 1, self._size))
        self._open.append(top)
        self._brackets += top.bracketed

    def _end(self) -> _Measured:
        top = self._open.pop()
        self._brackets -= top.bracketed
        value = dict(sorted(top.value.items())) if type(top.value) is dict else top.value
        done = _Measured(value, self._nodes - top.before[0], self._size - top.before[1], top.height)
        if top.anchor:
            self._anchors[top.anchor] = done
        if self._open:
            above = self._open[-1]
            above.height = max(above.height, top.height + 1)
            if type(above.value) is dict and not above.merging:
                above.value[above.key] = value
                above.key = _NO_KEY
            else:
                self._put(above, done, None)
        return done

    def _alias(self, event: yaml.AliasEvent) -> _Measured:
        try:
            found = self._anchors[event.anchor or ""]
        except KeyError:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced") from None
        if found is None:
            raise YamlError(f"yaml: anchor '{event.anchor}' value contains itself")
        self._aliased += found.nodes
        self._count(1 + found.nodes, found.size)
        if not self._open:
            return found
        top = self._open[-1]
        top.height = max(top.height, found.height + 1)
        if len(self._open) + found.height > MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        if type(top.value) is dict and top.key is _NO_KEY:
            if found.raw is _NO_KEY:
                raise YamlError("yaml: invalid map key")
            top.key = found.raw
        else:
            self._put(top, found, event)
        return found

    def _put(self, top: _Open, done: _Measured, event: Any) -> None:
        """Puts a complete value where it belongs."""
        if type(top.value) is list:
            top.value.append(done.value)
        elif top.merging:
            sources = reversed(done.value) if type(done.value) is list else [done.value]
            for source in sources:
                if type(source) is not dict:
                    raise YamlError("yaml: map merge requires map or sequence of maps as the value")
                top.value.update(source)
            top.key, top.merging = _NO_KEY, False
        else:
            top.value[self._checked_key(top, done.raw, event)] = json_number(done.value)
            top.key = _NO_KEY

    def _checked_key(self, top: _Open, value: Any, event: Any) -> str:
        """The key that waits for `value` (YAML's, of a scalar) as a string; one that is there already is reported."""
        raw = top.key
        name = key(raw, "..." if value is _NO_KEY else go_value(value)) if type(raw) is not str else raw
        if name in top.value:
            shown = f'"{name}"' if isinstance(raw, str) else name
            self.duplicates.append(f"line {event.start_mark.line + 1}: key {shown} already set in map")
        return name

    def _count(self, nodes: int, size: int) -> None:
        self._nodes += nodes
        self._size += size
        if self._aliased > _FREE_ALIASED and self._nodes > _FREE_NODES:
            part = min(max((self._nodes - _FEW_NODES) / (_MANY_NODES - _FEW_NODES), 0), 1)
            if self._aliased / self._nodes > _SHARE_OF_FEW - (_SHARE_OF_FEW - _SHARE_OF_MANY) * part:
                raise YamlError("yaml: document contains excessive aliasing")
        if self._size > MAX_EXPANDED:
            raise YamlError("yaml: document contains excessive aliasing")
        if self._brackets > _DEEP:
            self._scanning += self._brackets
            if self._scanning > _MAX_SCANNING:
                raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
