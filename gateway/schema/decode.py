"""Decoding by schema: the object that Go would hold, in the JSON form that Go would write back.

As apimachinery's JSON serializer (sigs.k8s.io/json): names are case-sensitive, nulls count as absent, and unknown
fields are dropped. Empty values of optional fields are left out; zero values of other fields are written. Quantities
and times become canonical. Storage changes more: see `gateway.schema.empty_lists`.

Each type is compiled once, to closures that know no paths. Only if they meet an unknown field or a value that does not
fit, a second pass (`gateway.schema.problems`) finds the messages.
"""

from __future__ import annotations

import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.memo import memo
from gateway.schema import quantity, structural
from gateway.schema.body import Body, has_infinity, not_a_float, parse_exactly, parse_to_decode, too_large
from gateway.schema.errors import HEAVY, DecodeError, Marks, Mismatch, bounds_of
from gateway.schema.exact import Number, PairsObject
from gateway.schema.refusals import spelt
from gateway.schema.repeated_members import merged
from gateway.schema.times import TimeError, canonical_microtime, canonical_time
from gateway.schema.types import Omit, Type, TypeKind, compiled, is_instant
from gateway.schema.zero import zero, zero_members

__all__ = ["DecodeError", "DecodeReport", "decode", "parse_to_decode"]


@dataclass(slots=True)
class DecodeReport:
    """The problems of strict decoding, as texts ('unknown field "spec.foo"', 'duplicate field "data"').

    `problems` has both kinds in kube-apiserver's order: at most 100, without repetition. The objects in lists of a
    `trusted` value, which an API server has written, are not bounded. With `keyless`, paths leave out the keys of maps.
    `emptied`: an empty value of an optional field was left out, and it may be a list or a map.
    """

    problems: list[str] = field(default_factory=list)
    trusted: bool = False
    keyless: bool = False
    emptied: bool = False

    @property
    def unknown(self) -> list[str]:
        return [text for text in self.problems if text.startswith("unknown")]

    @property
    def duplicates(self) -> list[str]:
        return [text for text in self.problems if text.startswith("duplicate")]


_CONVERTED_JSON = "v1.JSON"  # of apiextensions: conversion to the internal version writes its numbers as Go does


Decoder = Callable[[Any, Marks], Any]  # value that is not null, marks left where a field was unknown -> Go's value


def decode(type_: Type, value: Any, report: DecodeReport, sent: int = 0) -> JsonObject:
    """The object that Go would hold after decoding `value`: a new dict, which shares only free-form JSON with `value`.

    `value` is the unchanged result of `parse_to_decode`, or plain JSON. Adds unknown and duplicate fields to `report`.
    `sent` is the size of the body that `value` comes from, 0 if it comes from none: it bounds the objects in lists.
    Raises DecodeError, in kube-apiserver's words.
    """
    if not sent and type(value) is Body:
        sent = len(value.raw)
    bounds = (sys.maxsize,) if report.trusted else bounds_of(sent)
    marks = Marks(*bounds)
    source = value
    number = value.too_large if type(value) is Body else ""
    if number and type_.structural:
        raise not_a_float(number)
    if type(value) is Body and value.duplicates:
        source = parse_exactly(value.raw)
        value = merged(type_, source)
        marks.append(None)
    try:
        result: JsonObject = zero(type_) if value is None else _decoder(type_)(value, marks)
    except Mismatch:
        return _second_look(type_, source, report, bounds)
    report.emptied |= marks.emptied
    if number and (not marks or has_infinity(result)):  # the decoder took it: it is in free-form JSON, or left out
        raise not_a_float(number)
    if marks:
        from gateway.schema.problems import examine

        examine(type_, source, report.problems, report.keyless)
    return result


def _second_look(type_: Type, source: Any, report: DecodeReport, bounds: tuple[int, ...]) -> JsonObject:
    """Raises the DecodeError for a value that did not fit. Returns the object if the value fits with exact numbers.

    A quantity, for example, may be a number, whose text counts.
    """
    from gateway.schema.problems import examine

    exact = source
    if type(source) is not PairsObject:
        exact = parse_exactly(source.raw) if type(source) is Body else spelt(source)
    examine(type_, exact, report.problems, report.keyless)
    marks = Marks(*bounds)
    try:
        result: JsonObject = _decoder(type_)(merged(type_, exact), marks)
    except Mismatch:
        if number := too_large(exact):
            raise not_a_float(number) from None
        raise DecodeError(f"json: cannot unmarshal object into Go value of type {type_.name}") from None
    report.emptied |= marks.emptied
    return result


def _through(type_: Type) -> Decoder:
    """A stand-in for the decoder that is being compiled, for types that refer to themselves."""
    return lambda value, marks: _decoder(type_)(value, marks)


def _compile(type_: Type) -> Decoder:
    if type_.structural:
        return structural.reader(type_, _decoder)
    match type_.kind:
        case TypeKind.STRUCT:
            return _struct(type_)
        case TypeKind.LIST:
            return _list(type_)
        case TypeKind.MAP:
            return _map(type_)
        case TypeKind.ANY if type_.elem is not None:
            return _schema_or(type_)
        case TypeKind.ANY if type_.name == _CONVERTED_JSON:
            return structural.as_came
        case kind:
            return _SCALARS[kind]


_decoder = compiled(_compile, meanwhile=_through)


def _struct(type_: Type) -> Decoder:
    decoders: dict[str, Decoder] = {}
    plain: dict[str, type] = {}  # fields whose values need no decoding beyond being of one Python type
    kept = {each.name for each in type_.fields.values() if each.omit is not Omit.EMPTY}  # their empty values, too
    instants = {each.name for each in type_.fields.values() if is_instant(each)}  # null is the zero time
    octets = {each.name for each in type_.fields.values() if each.type.kind is TypeKind.BYTES}
    zeros, structs = zero_members(type_)
    for each in type_.fields.values():
        decoders[each.name] = _decoder(each.type)
        if each.type.kind in (TypeKind.STRING, TypeKind.BOOL, TypeKind.DURATION):
            plain[each.name] = bool if each.type.kind is TypeKind.BOOL else str
    plain_type, decoder_of = plain.get, decoders.get

    def decode_struct(value: Any, marks: Marks) -> Any:
        if type(value) is not dict and not isinstance(value, dict):
            raise Mismatch
        out: JsonObject = {}
        for key, item in value.items():
            if item and plain_type(key) is type(item):
                out[key] = item
                continue
            decoder = decoder_of(key)
            if decoder is None:
                marks.append(None)
            elif item is not None:
                item = decoder(item, marks)
                if item or (item is not None and key in kept):
                    out[key] = item
                elif item is None or item == [] or item == {} or key in octets:
                    marks.emptied = True
                    if key in instants:
                        out[key] = None
        for key, empty in zeros:
            if key not in out:
                out[key] = empty
        for key, make in structs:
            if key not in out:
                out[key] = make()
        return out

    return decode_struct


def _list(type_: Type) -> Decoder:
    elem = _elem(type_)
    decoder = _decoder(elem)
    if elem.kind is TypeKind.STRING:

        def decode_strings(value: Any, marks: Marks) -> Any:
            if type(value) is not list:
                raise Mismatch
            for item in value:
                if type(item) is not str:
                    return ["" if each is None else decoder(each, marks) for each in value]
            return value.copy()

        return decode_strings

    def decode_list(value: Any, marks: Marks) -> Any:
        if type(value) is not list:
            raise Mismatch
        return [_zero_elem(type_) if item is None else decoder(item, marks) for item in value]

    def decode_structs(value: Any, marks: Marks) -> Any:
        if type(value) is not list:
            raise Mismatch
        marks.take(len(value))
        return [_zero_elem(type_) if item is None else decoder(item, marks) for item in value]

    def decode_heavy(value: Any, marks: Marks) -> Any:
        if type(value) is not list:
            raise Mismatch
        marks.take_heavy(len(value))
        return [_zero_elem(type_) if item is None else decoder(item, marks) for item in value]

    if elem.name in HEAVY:
        return decode_heavy
    return decode_structs if elem.kind is TypeKind.STRUCT else decode_list


def _map(type_: Type) -> Decoder:
    elem = _elem(type_)
    decoder = _decoder(elem)
    if elem.kind is TypeKind.STRING:

        def decode_string_map(value: Any, marks: Marks) -> Any:
            if not isinstance(value, dict):
                raise Mismatch
            for item in value.values():
                if type(item) is not str:
                    return {key: "" if each is None else decoder(each, marks) for key, each in value.items()}
            return value.copy()

        return decode_string_map

    def decode_map(value: Any, marks: Marks) -> Any:
        if not isinstance(value, dict):
            raise Mismatch
        return {key: _zero_elem(type_) if item is None else decoder(item, marks) for key, item in value.items()}

    return decode_map


def _elem(type_: Type) -> Type:
    assert type_.elem is not None, type_
    return type_.elem


def _zero_elem(type_: Type) -> Any:
    elem = _elem(type_)
    if elem.kind is TypeKind.BYTES:
        return ""  # in storage, null bytes and empty bytes are the same
    return None if type_.elem_pointer else zero(elem)


def _string(value: Any, marks: Marks) -> Any:
    if type(value) is not str:
        raise Mismatch
    return value


def _bool(value: Any, marks: Marks) -> Any:
    if type(value) is not bool:
        raise Mismatch
    return value


def _int32(value: Any, marks: Marks) -> Any:
    if type(value) is not int or not -0x80000000 <= value <= 0x7FFFFFFF:
        raise Mismatch
    return value


def _int64(value: Any, marks: Marks) -> Any:
    if type(value) is not int or not -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        raise Mismatch
    return value


def _float(value: Any, marks: Marks) -> Any:
    if type(value) is Number:
        value = float(value)
        if value in (float("inf"), float("-inf")):
            raise Mismatch
    if type(value) is float and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if type(value) not in (int, float):
        raise Mismatch
    return value


def _int_or_string(value: Any, marks: Marks) -> Any:
    return value if type(value) is str else _int32(value, marks)


_base64 = re.compile(r"[A-Za-z0-9+/]*={0,2}", re.ASCII).fullmatch


def _bytes(value: Any, marks: Marks) -> Any:
    if type(value) is not str:
        return _bytes_of_numbers(value)
    text = value.replace("\n", "").replace("\r", "") if "\n" in value or "\r" in value else value
    if len(text) % 4 or not _base64(text):
        raise Mismatch
    if text.endswith("="):
        return b64encode(b64decode(text)).decode()  # clears unused bits of the last character
    return text


def _bytes_of_numbers(value: Any) -> str:
    """The base64 of a list of numbers, which Go's decoder accepts as bytes. Raises Mismatch."""
    try:
        if type(value) is not list or any(type(item) not in (int, type(None)) for item in value):
            raise Mismatch
        return b64encode(bytes(item or 0 for item in value)).decode()
    except ValueError:
        raise Mismatch from None


def _time(value: Any, marks: Marks) -> Any:
    try:
        return canonical_time(value) if type(value) is str else _mismatch()
    except TimeError:
        raise Mismatch from None


def _microtime(value: Any, marks: Marks) -> Any:
    try:
        return canonical_microtime(value) if type(value) is str else _mismatch()
    except TimeError:
        raise Mismatch from None


def _mismatch() -> None:
    raise Mismatch


def _quantity(value: Any, marks: Marks) -> Any:
    if type(value) is not str:
        if type(value) is not int and type(value) is not Number:
            raise Mismatch  # also for a float: the second look knows its text
        value = str(value)
    try:
        return _canonical_quantity(value)
    except quantity.QuantityError:
        raise Mismatch from None


@memo()
def _canonical_quantity(text: str) -> str:
    return quantity.canonical(text.strip())


def _any(value: Any, marks: Marks) -> Any:
    return value


def _schema_or(type_: Type) -> Decoder:
    """JSONSchemaPropsOrBool, …OrArray, …OrStringArray of apiextensions: a schema, or a value that the name tells."""
    schema = _elem(type_)
    decode_schema = _decoder(schema)
    strings = _list(Type(TypeKind.LIST, "[]string", elem=Type(TypeKind.STRING, "string")))
    schemas = _list(Type(TypeKind.LIST, "[]" + schema.name, elem=schema))

    def decode_schema_or(value: Any, marks: Marks) -> Any:
        unknown = len(marks)
        if isinstance(value, dict):
            made = decode_schema(value, marks)
        elif type_.name.endswith("OrBool"):
            return _bool(value, marks)
        elif type(value) is list:
            made = (strings if type_.name.endswith("OrStringArray") else schemas)(value, marks) or None
        else:
            return None
        del marks[unknown:]  # unknown fields below here are dropped and not reported
        return made

    return decode_schema_or


_SCALARS: dict[TypeKind, Decoder] = {
    TypeKind.STRING: _string,
    TypeKind.DURATION: _string,
    TypeKind.BOOL: _bool,
    TypeKind.INT32: _int32,
    TypeKind.INT64: _int64,
    TypeKind.FLOAT: _float,
    TypeKind.BYTES: _bytes,
    TypeKind.QUANTITY: _quantity,
    TypeKind.TIME: _time,
    TypeKind.MICROTIME: _microtime,
    TypeKind.INT_OR_STRING: _int_or_string,
    TypeKind.ANY: _any,
}
