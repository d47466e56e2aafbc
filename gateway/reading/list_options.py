"""ListOptions: the query of a list or watch, read and validated ("Collections" of API Concepts)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.http.exchange import Request
from gateway.http.parameters import boolean, integer
from gateway.http.request_info import watch_parameter
from gateway.http.status import StatusError, bad_request, invalid
from gateway.schema.integers import MOST, parse_uint
from gateway.selectors import fields, labels
from gateway.selectors.fields import Selectable
from gateway.validation.field import FieldError, forbidden, go_quote, not_supported
from storage.reads import Match

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"


@dataclass(slots=True)
class ListOptions:
    """The parameters as given; `match` selects by labels and fields, None when everything is selected."""

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
    name: str = ""  # the one name that the selection is pinned to
    exact_field: tuple[str, str] | None = None  # a field and the one value that is selected


def parse_resource_version(text: str, prefix: str = "", code: int = 500, reason: str = "") -> int:
    """A resourceVersion as a number, 0 when it is unset. Raises StatusError with the given code and message prefix."""
    if not text or text == "0":
        return 0
    try:
        return min(parse_uint(text), MOST)
    except ValueError as fault:
        quoted = go_quote(text)
        message = f"resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {fault}"
        raise StatusError(code, reason, prefix + message) from None


def list_options(request: Request, selectable: Selectable, watch: bool) -> ListOptions:
    """Reads and validates the query. Raises StatusError 400 and 422."""
    options = ListOptions()
    if request.query_string:
        for name, values in request.query.items():
            read = _PARAMETERS.get(name)
            if read is not None:
                read(options, values[0])
    _select(options, request, selectable)
    deprecated = request.info.verb_in_path and not watch_parameter(request.query)  # it is checked as a list would be
    errors = _watch_errors(options) if watch and not deprecated else _list_errors(options)
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
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
}


def _select(options: ListOptions, request: Request, selectable: Selectable) -> None:
    try:
        by_label = labels.parse(options.label_selector) if options.label_selector else None
        terms = []
        if options.field_selector:
            terms = fields.resolve(fields.parse_terms(options.field_selector), selectable)
    except labels.SelectorError as error:
        raise bad_request(str(error)) from None
    options.name = fields.exact_name(terms) or ""
    if request.info.name and len(request.info.parts) > 1:  # a deprecated watch path that names an object
        if options.name and options.name != request.info.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        options.name = request.info.name
        terms = [*terms, fields.Term("metadata.name", options.name, True)]
    options.exact_field = fields.exact_value(terms)
    by_field = fields.matcher(terms)
    options.match = _combined(by_label, by_field)


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
    if not match and not initial and options.resource_version in ("", "0"):  # such a watch begins with initial events
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
