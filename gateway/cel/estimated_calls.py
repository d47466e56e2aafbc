"""Cost estimates of calls: by function for Kubernetes' libraries, by overload for the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from gateway.cel.ast import Literal, Node
from gateway.cel.costs import AUTHORIZATION_CHECK, LIST_BASE, REGEX, STRUCT_BASE, TRAVERSAL
from gateway.cel.sizes import LARGEST, NOTHING, ONE, UNKNOWN, SizeRange, fixed
from gateway.cel.types import CelType, Kind

SizeAt = Callable[[tuple[str, ...]], SizeRange | None]
_LONGEST_FORMAT_NAME, _LONGEST_FORMAT_REGEX = 64, 128


@dataclass(slots=True)
class Argument:
    """An argument of a call: its node, type, path in the schema, and its size and that of its items if known."""

    node: Node | None
    type: CelType
    path: tuple[str, ...]
    computed: SizeRange | None
    size_at: SizeAt
    items: SizeRange | None = None

    @property
    def known(self) -> SizeRange:
        """The size that follows from the expression alone."""
        return self.computed or UNKNOWN

    @property
    def size(self) -> SizeRange:
        """The size that follows from the expression, else from the schema."""
        return self.computed or self.size_at(self.path) or UNKNOWN


@dataclass(slots=True)
class Estimate:
    """The cost of a call without its arguments, and the size of its result if known."""

    cost: SizeRange
    size: SizeRange | None = field(default=None)


Target = Argument | None
Arguments = list[Argument]
_Estimator = Callable[[Target, Arguments], Estimate | None]


def estimate_call(function: str, overload: str, target: Target, arguments: Arguments) -> Estimate | None:
    """The estimate of a call; None if the call has no estimate of its own."""
    for by in (_FIRST.get(overload), _BY_FUNCTION.get(function)):
        if by is not None and (found := by(target, arguments)) is not None:
            return found
    if overload in _CIDR:
        return _CIDR[overload](target, arguments)
    if function == "_==_" and _cheap_equality(arguments) is not None:
        return _cheap_equality(arguments)
    rest = _BY_OVERLOAD.get(overload)
    return rest(target, arguments) if rest is not None else None


def _nominal(target: Target, arguments: Arguments) -> Estimate | None:
    return Estimate(ONE)


def _selector(target: Target, arguments: Arguments) -> Estimate | None:
    if len(arguments) != 1:
        return None
    length = arguments[0].size
    requirements = length.scaled(0.5).scaled(float(LIST_BASE + STRUCT_BASE))
    return Estimate(fixed(LIST_BASE).plus(length.scaled(TRAVERSAL)).plus(requirements))


def _each_element(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    if not target.type.parameters:
        return Estimate(target.size.scaled(TRAVERSAL))
    element, cost = target.type.parameters[0], ONE
    if element.kind in (Kind.STRING, Kind.BYTES):
        cost = cost.plus(_element_size(target).scaled(TRAVERSAL))
    return Estimate(target.size.times(cost))


def _included(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None or target.type.parameters:
        return _each_element(target, arguments)
    return Estimate(target.size.times(ONE))


def _element_size(of: Argument) -> SizeRange:
    return of.size_at((*of.path, "@items")) or UNKNOWN if of.path else UNKNOWN


def _url(target: Target, arguments: Arguments) -> Estimate | None:
    if len(arguments) != 1:
        return None
    return Estimate(arguments[0].size.scaled(TRAVERSAL), arguments[0].size)


def _same_text(target: Target, arguments: Arguments) -> Estimate | None:
    return None if target is None else Estimate(target.size.scaled(TRAVERSAL), target.size)


def _replace(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None or len(arguments) < 2:
        return None
    size, old, new = target.size, arguments[0].size, arguments[1].size
    if old.least == 0:
        most, kept_most = min(size.most + 1, LARGEST), size.most
    elif new.most <= old.least:
        most, kept_most = 0, size.most
    else:
        most, kept_most = ceil(float(size.most) / float(old.least)), 0
    if old.most == 0:
        least, kept_least = min(size.least + 1, LARGEST), size.least
    elif old.most <= new.least:
        least, kept_least = 0, size.least
    else:
        least, kept_least = ceil(float(size.least) / float(old.most)), 0
    result = SizeRange(least, most).times(new).plus(SizeRange(kept_least, kept_most))
    return Estimate(size.scaled(2 * TRAVERSAL), result)


def _split(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    most = target.size.most
    if len(arguments) > 1:
        node = arguments[1].node
        if isinstance(node, Literal) and type(node.value) is int:
            most = node.value % (1 << 64)
    return Estimate(target.size.scaled(2 * TRAVERSAL), SizeRange(0, most))


def _join(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    items, size = target.size, NOTHING
    if target.type.parameters:
        size = items.times(target.items or _element_size(target))  # kube-apiserver uses only the sizes of the schema
    if arguments:
        between = SizeRange(max(items.least - 1, 0), max(items.most - 1, 0))
        size = size.plus(arguments[0].size.times(between))
    return Estimate(size.scaled(TRAVERSAL), size)


def _find(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None or not arguments:
        return None
    cost = target.size.plus(ONE).scaled(TRAVERSAL).times(arguments[0].size.scaled(REGEX))
    return Estimate(cost, SizeRange(0, target.size.most))


def _parsed(factor: float) -> _Estimator:
    def estimate(target: Target, arguments: Arguments) -> Estimate | None:
        return Estimate(arguments[0].size.scaled(factor)) if arguments else None

    return estimate


def _part_of_url(growth: int) -> _Estimator:
    """A part of a URL is at most `growth` times as long as the URL (more than 1 if the part is escaped).

    kube-apiserver assumes no bound (kubernetes issue 141984).
    """

    def estimate(target: Target, arguments: Arguments) -> Estimate | None:
        return None if target is None else Estimate(ONE, SizeRange(0, min(target.size.most * growth, LARGEST)))

    return estimate


def _address(least: int, most: int) -> _Estimator:
    """The length of an address as text. kube-apiserver assumes no bound."""
    return lambda target, arguments: Estimate(ONE, SizeRange(least, most))


_ADDRESS = SizeRange(4, 16)


def _contains_ip(text: bool) -> _Estimator:
    def estimate(target: Target, arguments: Arguments) -> Estimate | None:
        cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
        return Estimate(cost.plus(arguments[0].size.scaled(TRAVERSAL)) if text else cost)

    return estimate


def _contains_cidr(text: bool) -> _Estimator:
    def estimate(target: Target, arguments: Arguments) -> Estimate | None:
        cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL).plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
        return Estimate(cost.plus(arguments[0].size.scaled(TRAVERSAL)) if text else cost)

    return estimate


def _validate(target: Target, arguments: Arguments) -> Estimate | None:
    if not arguments:
        return None
    return Estimate(arguments[0].size.scaled(TRAVERSAL).scaled(_LONGEST_FORMAT_REGEX * REGEX))


def _cheap_equality(arguments: Arguments) -> Estimate | None:
    one, other = arguments[0].type, arguments[1].type
    if one.kind not in (Kind.OPAQUE, Kind.STRUCT) or one != other:
        return None
    if one.name == "kubernetes.NamedFormat":
        return Estimate(SizeRange(1, _LONGEST_FORMAT_NAME).scaled(TRAVERSAL))
    if one.name == "kubernetes.URL":
        size = arguments[1].computed
        return Estimate(SizeRange(1, 1 if size is None else size.most).scaled(TRAVERSAL))
    return Estimate(ONE) if one.name.startswith(("kubernetes.", "net.")) else None


def _format(target: Target, arguments: Arguments) -> Estimate | None:
    return None if target is None else Estimate(target.known.scaled(TRAVERSAL))


def _to_bytes(target: Target, arguments: Arguments) -> Estimate | None:
    size = arguments[0].known
    return Estimate(size.scaled(TRAVERSAL), SizeRange(size.least, size.most * 4 % (1 << 64)))


def _to_string(target: Target, arguments: Arguments) -> Estimate | None:
    size = arguments[0].known
    return Estimate(size.scaled(TRAVERSAL), SizeRange(size.least // 4, size.most))


def _quote(target: Target, arguments: Arguments) -> Estimate | None:
    size = arguments[0].known
    return Estimate(size.scaled(TRAVERSAL), SizeRange(size.least + 2, (size.most * 2 + 2) % (1 << 64)))


def _first_argument(target: Target, arguments: Arguments) -> Estimate | None:
    return Estimate(arguments[0].known.scaled(TRAVERSAL)) if len(arguments) == 1 else None


def _in_list(target: Target, arguments: Arguments) -> Estimate | None:
    return Estimate(arguments[1].known.scaled(1))


def _matches(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    return Estimate(target.known.plus(ONE).scaled(TRAVERSAL).times(arguments[0].known.scaled(REGEX)))


def _contains(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    return Estimate(target.known.scaled(TRAVERSAL).times(arguments[0].known.scaled(TRAVERSAL)))


def _smaller(target: Target, arguments: Arguments) -> Estimate | None:
    most = min(arguments[0].known.most, arguments[1].known.most)
    return Estimate(SizeRange(1 if most else 0, most).scaled(TRAVERSAL))


def _allocated(factor: float, size: SizeRange) -> Estimate:
    return Estimate(size.scaled(factor).plus(ONE).plus(fixed(LIST_BASE)), size)


def _integer(of: Argument, otherwise: int) -> int:
    if isinstance(of.node, Literal) and type(of.node.value) is int:
        return max(of.node.value, 0)
    return otherwise


def _slice(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None or len(arguments) != 2:
        return None
    start, end = _integer(arguments[0], 0), _integer(arguments[1], target.size.most)
    return _allocated(1, fixed((end - start) % (1 << 64)))


def _range(target: Target, arguments: Arguments) -> Estimate | None:
    return _allocated(1, fixed(_integer(arguments[0], LARGEST)))


def _reverse(target: Target, arguments: Arguments) -> Estimate | None:
    return None if target is None else _allocated(1, target.size)


def _flatten(target: Target, arguments: Arguments) -> Estimate | None:
    if target is None:
        return None
    depth = _integer(arguments[0], LARGEST) if arguments else 1
    return _allocated(float(depth), target.size)


def _self_compared(of: Target, factor: float) -> Estimate | None:
    return None if of is None else _allocated(factor, of.size.times(of.size))


def _sort(factor: float) -> _Estimator:
    return lambda target, arguments: _self_compared(target, factor) if not arguments else None


def _sort_by(factor: float) -> _Estimator:
    return lambda target, arguments: _self_compared(arguments[0], factor)


def _sets(factor: float) -> _Estimator:
    def estimate(target: Target, arguments: Arguments) -> Estimate | None:
        return Estimate(arguments[0].size.times(arguments[1].size).scaled(factor).plus(ONE))

    return estimate


_FACTORS = {
    name: 2.0 + (TRAVERSAL if name in ("string", "bytes") else 0.0)
    for name in (
        "bool",
        "bytes",
        "double",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "int",
        "string",
        "uint",
    )
}
_FIRST: dict[str, _Estimator] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _sort(2.0),
    **{f"list_{name}_sort": _sort(factor) for name, factor in _FACTORS.items()},
    **{f"list_{name}_sortByAssociatedKeys": _sort_by(factor) for name, factor in _FACTORS.items()},
    "cidr_ip": _nominal,
    "ip_to_string": _address(2, 39),
    "cidr_to_string": _address(4, 43),
}
_CIDR: dict[str, _Estimator] = {
    "cidr_contains_ip_string": _contains_ip(True),
    "cidr_contains_ip_ip": _contains_ip(False),
    "cidr_contains_cidr_string": _contains_cidr(True),
    "cidr_contains_cidr": _contains_cidr(False),
}
_NOMINAL = (
    *("serviceAccount", "path", "group", "resource", "subresource", "namespace"),
    *("name", "allowed", "reason", "error", "errored", "masked"),
    *("prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast"),
    *("isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat"),
    *("isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major"),
    *("minor", "patch"),
)
_BY_FUNCTION: dict[str, _Estimator] = {
    "check": lambda target, arguments: Estimate(fixed(AUTHORIZATION_CHECK)),
    **dict.fromkeys(_NOMINAL, _nominal),
    **dict.fromkeys(("getScheme", "getHostname", "getHost", "getPort", "getQuery"), _part_of_url(1)),
    "getEscapedPath": _part_of_url(3),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _each_element),
    "includes": _included,
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _url),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_text),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _parsed(TRAVERSAL)
    ),
    "ip.isCanonical": _parsed(2 * TRAVERSAL),
    "validate": _validate,
}
_BY_OVERLOAD: dict[str, _Estimator] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quote,
    "starts_with_string": _first_argument,
    "ends_with_string": _first_argument,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    **{
        f"{order}_{kind}": _smaller
        for order in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    },
    "equals": _smaller,
    "not_equals": _smaller,
}
