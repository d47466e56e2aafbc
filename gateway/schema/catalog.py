"""The built-in types, read from generated catalogs (hack/catalog.py makes them and describes their layout).

Minors with the same types share a file. A file is parsed on first use; a `Type` is built on first use and then shared.
The functions of this module use the catalog of the minor that the process serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import Lock

from gateway.jsontypes import JsonObject, loads
from gateway.release.early_versions import EARLY, is_early, like
from gateway.release.minors import DEFAULT, catalog_file
from gateway.schema.types import Field, Omit, Type, TypeKind

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_PLAIN = {
    "string": TypeKind.STRING,
    "int32": TypeKind.INT32,
    "int64": TypeKind.INT64,
    "float64": TypeKind.FLOAT,
    "bool": TypeKind.BOOL,
    "[]uint8": TypeKind.BYTES,
    "interface {}": TypeKind.ANY,
}
_OWN_JSON = {
    META + "Time": TypeKind.TIME,
    META + "MicroTime": TypeKind.MICROTIME,
    META + "Duration": TypeKind.DURATION,
    META + "FieldsV1": TypeKind.ANY,
    "io.k8s.apimachinery.pkg.api.resource.Quantity": TypeKind.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": TypeKind.INT_OR_STRING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": TypeKind.ANY,
    _EXTENSIONS + "JSON": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrArray": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrBool": TypeKind.ANY,
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": TypeKind.ANY,
}
_JUDGED_EMPTY = frozenset({_EXTENSIONS + "JSONSchemaDependencies"})  # kept if empty: validation refuses them
_OMITTED_WHEN_EMPTY = frozenset(
    {
        TypeKind.STRING,
        TypeKind.INT32,
        TypeKind.INT64,
        TypeKind.FLOAT,
        TypeKind.BOOL,
        TypeKind.BYTES,
        TypeKind.LIST,
        TypeKind.MAP,
    }
)
_EARLY_PACKAGES = {
    f"io.k8s.api.{group.partition('.')[0]}.{version}": (version, early) for (group, version), early in EARLY.items()
}


class Catalog:
    """The resources and types of the minors that share a file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._building = Lock()
        self._known: dict[str, Type] = {}  # complete types
        self._of_kinds: dict[str, Type] = {}  # those of kinds that there are, by group, version and kind
        self._types: dict[str, Type] = {}  # named types, which may still lack fields
        self._expressions: dict[tuple[str, str, tuple[str, ...], str], Type] = {}  # composite ones, and named variants

    @cached_property
    def variant(self) -> str:
        """What the names of this catalog's files have after "catalog": "" or "-" and a minor."""
        return Path(self._file).stem.removeprefix("catalog")

    @cached_property
    def document(self) -> JsonObject:
        """The whole file as JSON."""
        content: JsonObject = loads(Path(__file__).with_name(self._file).read_bytes())
        return content

    def type_of(self, type_name: str) -> Type:
        """The type of an OpenAPI definition name ("io.k8s.api.core.v1.Pod"). Raises KeyError if there is none."""
        known = self._known.get(type_name)
        if known is None:
            with self._building:  # another thread must not get a type that still lacks fields
                known = self._known[type_name] = self._named(type_name)
        return known

    def type_name_for(self, group: str, version: str, kind: str) -> str:
        """The definition name of a kind. Kinds of meta/v1 (DeleteOptions) are in every group. Raises KeyError."""
        name = self.document["kinds"].get(f"{group}/{version}/{kind}")
        if name is None and is_early(group, version, kind.removesuffix("List")):
            other = like(group, version, kind.removesuffix("List"))
            model = self.document["kinds"].get(f"{group}/{other}/{kind}")
            name = model and model.replace(f".{other}.", f".{version}.")
        if name is None and META + kind in self.document["types"]:
            name = META + kind
        if name is None:
            raise KeyError(f"no kind {kind} in {group}/{version}" if group else f"no kind {kind} in {version}")
        return str(name)

    def entry(self, type_name: str) -> JsonObject | None:
        """What the file says of a type, by its definition name; None if there is no such type."""
        found: JsonObject | None = self.document["types"].get(type_name)
        return self._early_entry(type_name) if found is None else found

    def _early_entry(self, name: str) -> JsonObject | None:
        """The entry of a type of an early version, made from that of the version that it is like."""
        package, _, type_ = name.rpartition(".")
        if (found := _EARLY_PACKAGES.get(package)) is None:
            return None
        version, early = found
        stable = package.removesuffix(version) + early.like
        if (entry := self.document["types"].get(f"{stable}.{type_}")) is None:
            return None

        def renamed(facts: JsonObject) -> JsonObject:
            own = facts["type"].rpartition(f"{stable}.")[2]
            if f"{stable}." not in facts["type"] or own in early.shared:
                return facts
            kept = {key: value for key, value in facts.items() if key != "enum"} if own in early.plain else facts
            return {**kept, "type": facts["type"].replace(f"{stable}.", f"{package}.")}

        made = {**entry, "go": entry["go"].replace(f"{early.like}.", f"{version}.", 1)}
        if "fields" in entry:
            made["fields"] = [renamed(facts) for facts in entry["fields"]]
        return made

    def type_for(self, group: str, version: str, kind: str) -> Type:
        """The type of a kind. Raises KeyError. Other names are not kept: clients may send any number of them."""
        named = f"{group}/{version}/{kind}"
        if (known := self._of_kinds.get(named)) is not None:
            return known
        found = self.type_of(self.type_name_for(group, version, kind))
        if named in self.document["kinds"] or is_early(group, version, kind.removesuffix("List")):
            self._of_kinds[named] = found
        return found

    def _named(self, name: str) -> Type:
        known = self._types.get(name)
        if known is not None:
            return known
        entry = self.entry(name)
        if entry is None:
            raise KeyError(name)
        if name in _OWN_JSON:
            built = self._types[name] = Type(_OWN_JSON[name], entry["go"])
            if name.startswith(_EXTENSIONS + "JSONSchemaPropsOr"):
                built.elem = self._named(_EXTENSIONS + "JSONSchemaProps")
            return built
        if "is" in entry:
            built = self._types[name] = replace(self._expression(entry["is"], {}), name=entry["go"])
            return built
        built = self._types[name] = Type(TypeKind.STRUCT, entry["go"], atomic=entry.get("atomic", False))
        for facts in entry.get("fields", ()):
            built.fields[facts["name"]] = self._field(facts)  # one by one: the type may refer to itself
        return built

    def _expression(self, expression: str, facts: JsonObject) -> Type:
        """The type of a Go type expression, with list and map `facts` of a field. A `*` in front is ignored."""
        expression = expression.removeprefix("*")
        key = (expression, facts.get("list", ""), tuple(facts.get("keys", ())), facts.get("map", ""))
        known = self._expressions.get(key)
        if known is None:
            known = self._expressions[key] = self._build(expression, facts)
        return known

    def _build(self, expression: str, facts: JsonObject) -> Type:
        if expression in _PLAIN:
            return Type(_PLAIN[expression], expression)
        if expression.startswith("[]"):
            built = Type(TypeKind.LIST, "")
            elem = expression[2:]
        elif expression.startswith("map["):
            built = Type(TypeKind.MAP, "")
            elem = expression[expression.index("]") + 1 :]
        else:
            built = self._named(expression)
            if "list" not in facts and facts.get("map") in (None, _relation(built)):
                return built
            built = replace(built)  # shares the fields
            elem = ""
        if elem:
            built.elem = self._expression(elem, {})
            built.elem_pointer = elem.startswith("*")
            built.name = self._go_name(expression)
        built.list_type = facts.get("list", "atomic")
        built.list_map_keys = tuple(facts.get("keys", ()))
        built.atomic = facts.get("map") == "atomic"
        return built

    def _go_name(self, expression: str) -> str:
        if expression.startswith("*"):
            return "*" + self._go_name(expression[1:])
        if expression.startswith("[]"):
            return "[]" + self._go_name(expression[2:])
        if expression.startswith("map["):
            key, _, elem = expression[4:].partition("]")
            return f"map[{self._go_name(key)}]{self._go_name(elem)}"
        entry = self.entry(expression)
        return entry["go"] if entry else expression

    def _field(self, facts: JsonObject) -> Field:
        type_ = self._expression(facts["type"], facts)
        pointer = facts["type"].startswith("*")
        steps = [step.partition(":") for step in facts.get("embedded", "").split(".") if step]
        return Field(
            name=facts["name"],
            go_name=facts["go"],
            type=type_,
            omit=_omit(facts.get("omit", ""), pointer or facts["type"] in _JUDGED_EMPTY, type_.kind),
            pointer=pointer,
            required=facts.get("required", False),
            default=facts.get("default"),
            enum=tuple(facts.get("enum", ())),
            patch_strategies=tuple(facts["patch"].split(",")) if "patch" in facts else (),
            patch_merge_key=facts.get("mergeKey", ""),
            number=facts.get("number", 0),
            embedded=tuple(name for name, _, _ in steps),
            embedded_numbers=tuple(int(number or 0) for _, _, number in steps),
        )


@cache
def _of_file(name: str) -> Catalog:
    return Catalog(name)


def catalog_of(minor: str) -> Catalog:
    """The catalog of a minor: the same object for minors that share a file."""
    return _of_file(catalog_file(minor))


_of_process = catalog_of(DEFAULT)
_here: ContextVar[Catalog | None] = ContextVar("catalog", default=None)


def serve(minor: str) -> None:
    """Sets the minor whose catalog the functions of this module use in this process, outside of `serving`."""
    global _of_process
    _of_process = catalog_of(minor)


@contextmanager
def serving(minor: str) -> Iterator[None]:
    """In the block, and in tasks and threads that are started there, the functions of this module use the catalog of a
    minor: so that a process serves two of them.
    """
    before = _here.set(catalog_of(minor))
    try:
        yield
    finally:
        _here.reset(before)


def served() -> Catalog:
    """The catalog of the minor that is served here."""
    return _here.get() or _of_process


def document() -> JsonObject:
    """The whole catalog of the served minor, as JSON."""
    return served().document


def type_of(type_name: str) -> Type:
    """The type of an OpenAPI definition name ("io.k8s.api.core.v1.Pod"). Raises KeyError if there is none."""
    return served().type_of(type_name)


def type_name_for(group: str, version: str, kind: str) -> str:
    """The definition name of a kind, as `Catalog.type_name_for`. Raises KeyError."""
    return served().type_name_for(group, version, kind)


def type_for(group: str, version: str, kind: str) -> Type:
    """The type of a kind. Raises KeyError."""
    return served().type_for(group, version, kind)


def _relation(built: Type) -> str:
    return "atomic" if built.atomic else "granular"


def _omit(written: str, pointer: bool, kind: TypeKind) -> Omit:
    """When Go omits a field whose tag is `written`: "empty" for omitempty, "zero" for omitzero, "" for neither.

    omitempty omits nil pointers and empty values, but never structs. omitzero also omits zero structs (times).
    """
    if not written:
        return Omit.NEVER
    if pointer:
        return Omit.NIL
    return Omit.EMPTY if written == "zero" or kind in _OMITTED_WHEN_EMPTY else Omit.NEVER
