"""ListOptions: parses and validates the query of a list or watch ("Collections" of API Concepts)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.http.exchange import Request
from gateway.http.parameters import boolean, integer
from gateway.http.request_info import RequestInfo, watch_parameter
from gateway.http.status import StatusError, bad_request, invalid
from gateway.schema.integers import parse_uint
from gateway.selectors import fields, labels
from gateway.selectors.fields import Selectable
from gateway.validation.field import FieldError, forbidden, go_quote, not_supported
from storage.reads import Match

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"


@dataclass(slots=True)
class ListOptions:
    """The parameters of the query.

    `match` returns whether an object's labels and fields are selected. It is None if all objects are selected.
    """

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continuation: str = ""
    timeout_seconds: int | None = None
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    match: Match | None = None
    name: str = ""  # the only name that the field selector selects
    ends_initial_events: bool = False  # whether a bookmark follows the initial events, if bookmarks are allowed
    exact_field: tuple[str, str] | None = None  # a field and the only value that the field selector selects
    exact_label: tuple[str, str] | None = None  # the same of the label selector
    shard_selector: str = ""  # as the list shows it; "" without the feature gate

    @property
    def selectors(self) -> tuple[str, str, str]:
        """The texts of the selectors: lists and watches with equal ones select the same objects."""
        return self.label_selector, self.field_selector, self.shard_selector

    @property
    def watch_seconds(self) -> float:
        """timeoutSeconds of a watch; 0 without it. Large values overflow as in Go, which counts 64-bit nanoseconds."""
        nanoseconds = (self.timeout_seconds or 0) * 10**9
        return ((nanoseconds + 2**63) % 2**64 - 2**63) / 10**9


def parse_resource_version(text: str, prefix: str = "", code: int = 500, reason: str = "") -> int:
    """A resourceVersion as an unsigned 64-bit integer; 0 if it is unset. (etcd's revisions have only 63 bits.)

    If it is invalid, raises StatusError with the code, the reason and the prefix of its message.
    """
    if not text or text == "0":
        return 0
    try:
        return parse_uint(text)
    except ValueError as fault:
        quoted = go_quote(text)
        message = f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {fault}"
        raise StatusError(code, reason, prefix + message) from None


def list_options(request: Request, selectable: Selectable, watch: bool, sharded: bool = False) -> ListOptions:
    """Parses and validates the query of a request. `watch` says whether it is a watch. Without `sharded`, a shard
    selector is ignored. Raises StatusError 400, 422, and 500 for an invalid shard selector.
    """
    options = ListOptions()
    if request.query_string:
        for name, values in request.query.items():
            read = _PARAMETERS.get(name)
            if read is not None:
                read(options, values[0])
    requirements, terms = _parsed(options)
    # as in kube-apiserver, only the parameter `watch` counts here, also for deletecollection and paths /watch/…
    streams = bool(request.query_string) and watch_parameter(request.query)
    errors = _watch_errors(options) if streams else _list_errors(options)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    options.ends_initial_events = watch and streams
    _select(options, requirements, _named(_resolved(terms, selectable), request.info))
    if options.shard_selector:
        _select_shard(options, sharded)
    return options


def _text(attribute: str) -> Callable[[ListOptions, str], None]:
    return lambda options, value: setattr(options, attribute, value)


def _int(attribute: str) -> Callable[[ListOptions, str], None]:
    return lambda options, value: setattr(options, attribute, integer(value))


def _bool(attribute: str) -> Callable[[ListOptions, str], None]:
    return lambda options, value: setattr(options, attribute, boolean(value))


_PARAMETERS = {
    "labelSelector": _text("label_selector"),
    "fieldSelector": _text("field_selector"),
    "resourceVersion": _text("resource_version"),
    "resourceVersionMatch": _text("resource_version_match"),
    "limit": _int("limit"),
    "continue": _text("continuation"),
    "timeoutSeconds": _int("timeout_seconds"),
    "allowWatchBookmarks": _bool("allow_bookmarks"),
    "sendInitialEvents": _bool("send_initial_events"),
    "shardSelector": _text("shard_selector"),
}


def _parsed(options: ListOptions) -> tuple[Sequence[labels.Requirement], list[fields.Term]]:
    try:
        requirements = labels.parse_requirements(options.label_selector) if options.label_selector else ()
        return requirements, fields.parse_terms(options.field_selector) if options.field_selector else []
    except labels.SelectorError as error:
        raise bad_request(str(error)) from None


def _resolved(terms: list[fields.Term], selectable: Selectable) -> list[fields.Term]:
    try:
        return fields.resolve(terms, selectable) if terms else terms
    except labels.SelectorError as error:
        raise bad_request(str(error)) from None


def _named(terms: list[fields.Term], info: RequestInfo) -> list[fields.Term]:
    """The terms of a request with a name. A deprecated path /watch/…/NAME selects that name; a field selector must
    select the same one, otherwise raises StatusError 400.
    """
    if not info.name or len(info.parts) < 2:
        return terms
    if terms and fields.exact_name(terms) != info.name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return terms or [fields.Term("metadata.name", info.name, True)]


def _select(options: ListOptions, requirements: Sequence[labels.Requirement], terms: list[fields.Term]) -> None:
    options.name = fields.exact_name(terms) or ""
    options.exact_field = fields.exact_value(terms)
    by_field = fields.matcher(terms)
    options.match = _combined(labels.matcher(requirements) if requirements else None, by_field)
    options.exact_label = labels.exact_value(requirements)


def _select_shard(options: ListOptions, sharded: bool) -> None:
    """Selects a part of what the other selectors select. The code 500 is kube-apiserver's."""
    if not sharded:
        options.shard_selector = ""
        return
    from gateway.selectors.shard_selector import InvalidShardSelector, parse

    try:
        shard = parse(options.shard_selector)
    except InvalidShardSelector as error:
        raise StatusError(500, "", str(error)) from None
    options.shard_selector, others = str(shard), options.match
    if others is None:
        options.match = lambda attributes: shard.matches(attributes.fields)
    else:
        options.match = lambda attributes: others(attributes) and shard.matches(attributes.fields)


def _combined(by_label: labels.Matcher | None, by_field: fields.FieldMatcher | None) -> Match | None:
    if by_label is None and by_field is None:
        return None
    if by_field is None:
        matches = by_label
        assert matches is not None
        return lambda attributes: matches(attributes[0])
    if by_label is None:
        return lambda attributes: by_field(attributes[1])
    both = by_label
    return lambda attributes: both(attributes.labels) and by_field(attributes.fields)


_MATCH = "resourceVersionMatch"


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match = options.resource_version_match
    if match:
        if not options.resource_version:
            errors.append(forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continuation:
            errors.append(forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            errors.append(not_supported(_MATCH, match, (EXACT, NOT_OLDER_THAN, "")))
        if match == EXACT and options.resource_version == "0":
            errors.append(forbidden(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    errors = []
    match, initial = options.resource_version_match, options.send_initial_events is not None
    if not match and not initial and options.resource_version in ("", "0"):  # a legacy watch with initial events
        match, initial = NOT_OLDER_THAN, True
    if initial and match != NOT_OLDER_THAN:
        errors.append(forbidden(_MATCH, f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"))
    if match:
        if not initial:
            detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errors.append(forbidden(_MATCH, detail))
        if match != NOT_OLDER_THAN:
            errors.append(not_supported(_MATCH, match, (NOT_OLDER_THAN,)))
        if options.continuation:
            errors.append(forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
    return errors
