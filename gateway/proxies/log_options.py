"""The options of a log (PodLogOptions): their validation, and the query for the kubelet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from gateway.http import status
from gateway.schema.integers import parse_int
from gateway.schema.times import TimeError, canonical_time
from gateway.subresources.connect import flag
from gateway.validation import field
from gateway.validation.field import FieldError, go_quote

_NO_TIME = "0001-01-01T00:00:00Z"  # Go's zero time, for an empty sinceTime
_NOT_NEGATIVE, _POSITIVE = "must be greater than or equal to 0", "must be greater than 0"
_BOTH = "at most one of `sinceTime` or `sinceSeconds` may be specified"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The container (maybe ""), whether any certificate of the kubelet is trusted, and the query for the kubelet."""

    container: str
    insecure: bool
    query: str


def log_options(name: str, query: Mapping[str, Sequence[str]]) -> LogOptions:
    """Reads the options of a pod's log from a request's query. Raises StatusError 400 for a value that cannot be
    parsed, 422 for one that is not allowed.
    """
    numbers = {each: _number(query.get(each)) for each in ("tailLines", "limitBytes", "sinceSeconds")}
    since = _time(query.get("sinceTime"))
    if errors := list(_wrong(numbers, since, "stream" in query)):
        raise status.invalid("", "PodLogOptions", name, errors)
    asked = {each: "true" for each in ("follow", "previous", "timestamps") if flag(query.get(each, ()))}
    asked |= {each: str(number) for each, number in numbers.items() if number is not None}
    if since is not None:
        asked["sinceTime"] = since
    container = next(iter(query.get("container", ())), "")
    return LogOptions(container, flag(query.get("insecureSkipTLSVerifyBackend", ())), urlencode(sorted(asked.items())))


def _wrong(numbers: Mapping[str, int | None], since: str | None, stream: bool) -> list[FieldError]:
    tail, limit, seconds = numbers["tailLines"], numbers["limitBytes"], numbers["sinceSeconds"]
    found = []
    if tail is not None and tail < 0:
        found.append(field.invalid("tailLines", tail, _NOT_NEGATIVE))
    if limit is not None and limit < 1:
        found.append(field.invalid("limitBytes", limit, _POSITIVE))
    if seconds is not None and since is not None:
        found.append(field.forbidden("[]", _BOTH))
    elif seconds is not None and seconds < 1:
        found.append(field.invalid("sinceSeconds", seconds, _POSITIVE))
    if stream:
        found.append(field.forbidden("stream", "may not be specified"))
    return found


def _number(values: Sequence[str] | None) -> int | None:
    if not values:
        return None
    try:
        return parse_int(values[0])
    except ValueError as error:
        raise status.bad_request(f"strconv.ParseInt: parsing {go_quote(values[0])}: {error}") from None


def _time(values: Sequence[str] | None) -> str | None:
    if not values:
        return None
    if values[0] in ("", "null"):
        return _NO_TIME
    try:
        return canonical_time(values[0])
    except TimeError as error:
        raise status.bad_request(str(error)) from None
