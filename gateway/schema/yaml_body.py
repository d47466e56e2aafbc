"""The only reader of YAML, in bodies, responses of webhooks and files. It returns the JSON that kube-apiserver reads.

Values are built from the parser's events without recursion, so that deep nesting is harmless. Depth, nodes, brackets
and the expansion of aliases are checked before a value is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from gateway.jsontypes import MOST_COLLECTIONS, MOST_NAMES, JsonObject, by_name, sorted_by_name
from gateway.schema.body import parse_body
from gateway.schema.errors import YamlError
from gateway.schema.yaml_scalars import PLAIN, go_value, json_number, key, scalar
from gateway.text.unicode import valid

__all__ = ["MAX_DEPTH", "YamlError", "parse_yaml"]

MAX_DEPTH = 1000
"""How deeply collections may nest: libyaml's limit since PyYAML 6.0.4. kube-apiserver's parser allows 10 000."""
_TOO_DEEP = "exceeded maximum nesting depth"  # libyaml's words
MAX_EXPANDED = 8 << 20
"""The most characters in all scalars of a document. A scalar counts again each time an alias repeats it."""
_FREE_SIZE, _SIZE_OF_BYTE = 1 << 20, 16  # fewer characters are allowed in a short document: so many, and for each byte
_FREE_NODES_OF_ALIASES, _BYTES_OF_NODE = 10_000, 8
"""The most nodes that all aliases of a document stand for: these, or one for so many bytes. A node that is decoded
takes up to a hundred times the bytes of an alias."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEP = 100
_MAX_SCANNING = 25_000_000
"""libyaml checks all open brackets for each token. Beyond `_DEEP` open brackets, so many checks are allowed."""

# goyaml's limit of aliases: the share of nodes that may come from them falls as the number of nodes grows
_FEW_NODES, _MANY_NODES = 400_000, 4_000_000
_SHARE_OF_FEW, _SHARE_OF_MANY = 0.99, 0.10
_FREE_ALIASED, _FREE_NODES = 100, 1000

_NO_KEY: Any = object()


def parse_yaml(data: bytes, *, alone: bool = False, sort: bool = False) -> tuple[Any, list[str]]:
    """Returns the first document of a YAML stream as JSON, and messages about its duplicate keys.

    A message is 'line 5: key "a" already set in map'. Values that aliases repeat are shared. The members of objects are
    sorted; in YAML that is JSON, only with `sort`. Raises YamlError; with `alone`, also for a second document.
    """
    if data.startswith(b"{") and b"\\u" not in data and _is_text(data):
        read, value = _as_json(data)
        if read:
            return sorted_by_name(value) if sort else value, []
    loader = _LOADER(data)
    builder = _Builder(len(data))
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
    except (ValueError, OverflowError) as error:  # an escape that stands for no character
        raise error if isinstance(error, YamlError) else YamlError("yaml: control characters are not allowed") from None
    finally:
        loader.dispose()


def _is_text(data: bytes) -> bool:
    """Whether bytes are valid UTF-8. The reader of JSON takes others, that of YAML refuses them."""
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _as_json(data: bytes) -> tuple[bool, Any]:
    """Reads a body as JSON, many times faster. Returns whether that means the same as YAML, and the value.

    A body with duplicate keys must be read as YAML, because messages name their lines. So must one with floats, which
    may become integers.
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
    """A value, with the nodes, characters and levels that each alias of it adds. `raw` is a scalar's YAML value."""

    __slots__ = ("height", "nodes", "raw", "size", "value")

    def __init__(self, value: Any, nodes: int, size: int, height: int, raw: Any = _NO_KEY) -> None:
        self.value, self.nodes, self.size, self.height, self.raw = value, nodes, size, height, raw


_PLACED = _Measured(None, 1, 0, 0)  # a scalar that is in its collection


class _Open:
    """A collection that is not complete yet."""

    __slots__ = ("anchor", "before", "bracketed", "height", "key", "merging", "value")

    def __init__(self, value: Any, event: Any, before: tuple[int, int]) -> None:
        self.value, self.anchor, self.before = value, event.anchor, before
        self.bracketed = bool(event.flow_style)
        self.key: Any = _NO_KEY  # of a mapping: the key whose value comes next
        self.merging = False
        self.height = 1


class _Builder:
    """Builds JSON from the parser's events."""

    def __init__(self, size: int) -> None:
        """`size` is that of the document in bytes."""
        self.duplicates: list[str] = []
        self._most_aliased = max(_FREE_NODES_OF_ALIASES, size // _BYTES_OF_NODE)
        self._most_size = min(MAX_EXPANDED, _FREE_SIZE + _SIZE_OF_BYTE * size)
        self._anchors: dict[str, _Measured | None] = {}  # None while the anchored collection is open
        self._open: list[_Open] = []
        self._nodes = self._aliased = self._size = self._brackets = self._scanning = self._collections = 0

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
        while (event := loader.get_event()) is not None:  # None after the end of the stream
            if type(event) is yaml.DocumentStartEvent:
                return True
        return False

    def _scalar(self, event: yaml.ScalarEvent) -> _Measured:
        """Reads a scalar. Its result is used only if the scalar is the whole document."""
        tag, text = event.tag, valid(event.value)
        if tag is None or tag == "!":
            tag = PLAIN if event.implicit[0] else ""
        raw, size = scalar(tag, text), len(text)
        self._nodes += 1
        self._size += size
        if self._aliased or self._brackets > _DEEP or self._size > self._most_size:
            self._count(0, 0)
        if not self._open:
            return _Measured(json_number(raw), 1, size, 0, raw)
        top = self._open[-1]
        if type(top.value) is dict and top.key is _NO_KEY:
            top.key = raw
            top.merging = tag == PLAIN and raw == "<<"
            if event.anchor:
                self._anchors[event.anchor] = _Measured(raw, 1, size, 0, raw)
        elif event.anchor or top.merging or type(top.key) is not str:
            done = _Measured(json_number(raw), 1, size, 0, raw)
            if event.anchor:
                self._anchors[event.anchor] = done
            self._put(top, done, event)
        else:  # nearly all scalars are values of members whose keys are strings
            name = top.key if top.key not in top.value else self._checked_key(top, raw, event)
            top.value[name] = raw if raw is None or type(raw) is str else json_number(raw)
            top.key = _NO_KEY
        return _PLACED

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
        self._collections += 1
        if self._collections > MOST_COLLECTIONS:
            raise YamlError(f"yaml: more than {MOST_COLLECTIONS} maps and lists; send fewer")
        if event.anchor:
            self._anchors[event.anchor] = None
        self._count(1, 0)
        top = _Open(value, event, (self._nodes - 1, self._size))
        self._open.append(top)
        self._brackets += top.bracketed

    def _end(self) -> _Measured:
        top = self._open.pop()
        self._brackets -= top.bracketed
        value = top.value
        if type(value) is dict:
            if len(value) > MOST_NAMES:
                raise YamlError(f"yaml: more than {MOST_NAMES} members of one map; send fewer")
            value = by_name(value)
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
        """Adds a complete value to the open collection `top`: as an item, a member, or a merge (`<<`)."""
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
        """The key of `top` that waits for its value, as a string. Reports a key that `top` has already.

        `value` is the YAML value if it is a scalar; error messages show it.
        """
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
        if self._size > self._most_size or self._aliased > self._most_aliased:
            raise YamlError("yaml: document contains excessive aliasing")
        if self._brackets > _DEEP:
            self._scanning += self._brackets
            if self._scanning > _MAX_SCANNING:
                raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
