"""The costs of calls at evaluation: cel-go's runtime costs and those of Kubernetes' libraries.

A call costs 1 unless this module has a cost function for it. A cost function gets the arguments (the receiver first)
and the result.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from gateway.cel.libraries.addresses import Cidr, Ip
from gateway.cel.libraries.formats import NamedFormat
from gateway.cel.libraries.regex import excess
from gateway.cel.values import Optional

PER_EXPRESSION = 1_000_000
PER_OBJECT = 10_000_000
TRAVERSAL = 0.1
REGEX = 0.25
LIST_BASE, MAP_BASE, STRUCT_BASE = 10, 30, 40
AUTHORIZATION_CHECK = 350_000

Cost = Callable[[tuple[Any, ...], Any], int]


def size_of(value: Any) -> int:
    """The size of a value for costs: characters, bytes or elements; 1 for scalars."""
    if isinstance(value, str | bytes | list | dict | tuple):
        return len(value)
    if isinstance(value, Ip | Cidr):
        return value.size
    return 1


def _deep_size(value: Any) -> int:
    return size_of(value.value) if type(value) is Optional and value.present else size_of(value)


def _traversed(value: Any) -> int:
    """The cost of reading a value with all values in it."""
    if isinstance(value, str):
        return int(len(value.encode(errors="surrogatepass")) * TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * TRAVERSAL)
    if isinstance(value, list | tuple):
        return sum(map(_traversed, value))
    if isinstance(value, dict):
        return sum(_traversed(name) + _traversed(each) for name, each in value.items())
    return 1


def _first(factor: float) -> Cost:
    return lambda args, result: ceil(size_of(args[0]) * factor)


def regex_cost(args: tuple[Any, ...], result: Any) -> int:
    """The cost of a search for a pattern."""
    text, pattern = args[:2]
    known = ceil((1.0 + size_of(text)) * TRAVERSAL) * ceil(size_of(pattern) * REGEX)
    return known + (excess(text, pattern) if type(text) is str and type(pattern) is str else 0)


def _selector(args: tuple[Any, ...], result: Any) -> int:
    length = size_of(args[1])
    return LIST_BASE + ceil(length * TRAVERSAL) + ceil(ceil(length * 0.5) * (LIST_BASE + STRUCT_BASE))


def _contains_ip(text: bool) -> Cost:
    def cost(args: tuple[Any, ...], result: Any) -> int:
        block = size_of(args[0])
        return ceil((block + block) * TRAVERSAL) + (ceil(size_of(args[1]) * TRAVERSAL) if text else 0)

    return cost


def _contains_cidr(text: bool) -> Cost:
    def cost(args: tuple[Any, ...], result: Any) -> int:
        block = size_of(args[0])
        own = ceil((block + block) * TRAVERSAL) + ceil(block * TRAVERSAL) + 1
        return own + (ceil(size_of(args[1]) * TRAVERSAL) if text else 0)

    return cost


def _validate(args: tuple[Any, ...], result: Any) -> int:
    size = args[0].regex_size if isinstance(args[0], NamedFormat) else 1
    return ceil((1.0 + size_of(args[1])) * TRAVERSAL) * ceil(size * REGEX)


def _smaller(args: tuple[Any, ...], result: Any) -> int:
    return ceil(min(_deep_size(args[0]), _deep_size(args[1])) * TRAVERSAL)


def _both(args: tuple[Any, ...], result: Any) -> int:
    return ceil((_deep_size(args[0]) + _deep_size(args[1])) * TRAVERSAL)


def _contains(args: tuple[Any, ...], result: Any) -> int:
    return ceil(_deep_size(args[0]) * TRAVERSAL) * ceil(_deep_size(args[1]) * TRAVERSAL)


def _allocated(size: float, factor: float = 1) -> int:
    return int(size * factor) + 1 + LIST_BASE


def _self_compared(items: Any) -> int:
    factor = 2.0
    if items and isinstance(items[0], str | bytes):
        factor += TRAVERSAL
    return _allocated(len(items) ** 2, factor)


def _flattened(args: tuple[Any, ...], result: Any) -> int:
    return _allocated(size_of(args[0]), float(args[1]) if len(args) == 2 else 1.0)


def _sets(factor: float) -> Cost:
    return lambda args, result: 1 + int(size_of(args[0]) * size_of(args[1]) * factor)


_ORDERED = ("bool", "bytes", "double", "google.protobuf.Duration", "google.protobuf.Timestamp", "int", "string", "uint")
BY_OVERLOAD: dict[str, Cost] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": lambda args, result: _allocated(size_of(result)),
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "lists_range": lambda args, result: _allocated(size_of(result)),
    "list_reverse": lambda args, result: _allocated(size_of(result)),
    "list_distinct": lambda args, result: _self_compared(args[0]),
    **{f"list_{name}_sort": lambda args, result: _self_compared(args[0]) for name in _ORDERED},
    **{f"list_{name}_sortByAssociatedKeys": lambda args, result: _self_compared(args[1]) for name in _ORDERED},
    # strings
    "starts_with_string": _first(TRAVERSAL),
    "ends_with_string": _first(TRAVERSAL),
    "string_to_bytes": _first(TRAVERSAL),
    "bytes_to_string": _first(TRAVERSAL),
    "strings_quote": _first(TRAVERSAL),
    "string_format": _first(TRAVERSAL),
    "in_list": lambda args, result: _deep_size(args[1]),
    **{
        f"{order}_{kind}": _smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "equals": _smaller,
    "not_equals": _smaller,
    "add_string": _both,
    "add_bytes": _both,
    "matches_string": regex_cost,
    "contains_string": _contains,
}


def _ip(args: tuple[Any, ...], result: Any) -> int:
    return 1 if isinstance(args[0], Cidr) else ceil(size_of(args[0]) * TRAVERSAL)


_BY_FUNCTION: dict[str, Cost] = {
    "check": lambda args, result: AUTHORIZATION_CHECK,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"),
        lambda args, result: _traversed(args[0]),
    ),
    **dict.fromkeys(("jsonpatch.escapeKey", "url", "lowerAscii", "upperAscii", "substring", "trim"), _first(TRAVERSAL)),
    **dict.fromkeys(("replace", "split"), _first(2 * TRAVERSAL)),
    "join": lambda args, result: ceil(size_of(result) * 2 * TRAVERSAL),
    **dict.fromkeys(("find", "findAll"), regex_cost),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _first(TRAVERSAL)),
    "ip": _ip,
    "ip.isCanonical": _first(2 * TRAVERSAL),
    "validate": _validate,
}
_BY_OVERLOAD_FIRST: dict[str, Cost] = {
    "cidr_contains_ip_string": _contains_ip(True),
    "cidr_contains_ip_ip": _contains_ip(False),
    "cidr_contains_cidr_string": _contains_cidr(True),
    "cidr_contains_cidr": _contains_cidr(False),
}


def _equality(args: tuple[Any, ...], result: Any) -> int:
    return 1 if isinstance(args[0], Ip | Cidr) else _smaller(args, result)


def cost_of(function: str, overload: str) -> Cost | None:
    """The cost function of a call; None if the call always costs 1. `overload` is "" if planning does not know it."""
    if function == "_==_":
        return _equality
    if function == "_!=_":
        return _smaller
    return _BY_OVERLOAD_FIRST.get(overload) or _BY_FUNCTION.get(function) or BY_OVERLOAD.get(overload)
