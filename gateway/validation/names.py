"""The name formats of Kubernetes (page "Object Names and IDs", RFC 1123, RFC 1035) and their messages.

Each `is_*` function takes a string and returns messages about its errors, none if it is valid. Results are cached,
because the same few names, keys and values are checked again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gateway.memo import memo

Messages = tuple[str, ...]
VALID: Messages = ()

LABEL_FORMAT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_FORMAT = rf"{LABEL_FORMAT}(\.{LABEL_FORMAT})*"
KEY_FORMAT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_FORMAT = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_DNS1035_FORMAT = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD_FORMAT = rf"\*\.{SUBDOMAIN_FORMAT}"

_MATCHED_AT_ONCE = 4096  # characters


def labels_match(label: str, flags: int = 0) -> Callable[[str], bool]:
    """Returns a function that says whether a text is labels of the pattern `label`, joined by dots.

    The labels of a long text are matched one by one: a match of three megabytes keeps all other threads waiting for
    half a second.
    """
    all_of = re.compile(rf"{label}(?:\.{label})*", flags).fullmatch
    one_of = re.compile(label, flags).fullmatch

    def matches(text: str) -> bool:
        if len(text) <= _MATCHED_AT_ONCE:
            return all_of(text) is not None
        return all(one_of(part) is not None for part in text.split("."))

    return matches


_is_label = re.compile(LABEL_FORMAT).fullmatch
_is_subdomain = labels_match(LABEL_FORMAT)
_is_short_subdomain = re.compile(SUBDOMAIN_FORMAT).fullmatch
_is_subdomain_caseless = labels_match(LABEL_FORMAT, re.IGNORECASE | re.ASCII)
_is_underscore = labels_match(_UNDERSCORE_LABEL)
_is_dns1035 = re.compile(_DNS1035_FORMAT).fullmatch
_is_key_name = re.compile(KEY_FORMAT).fullmatch


def max_length_message(length: int, unit: str = "characters") -> str:
    return f"must be no more than {length} {unit}"


def range_message(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def regex_message(text: str, expression: str, *examples: str) -> str:
    """The message for a value that does not match: what is expected, examples, and the expression."""
    if not examples:
        return f"{text} (regex used for validation is '{expression}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{expression}')"


_LABEL = regex_message(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character",
    LABEL_FORMAT,
    "my-name",
    "123-abc",
)
_SUBDOMAIN = regex_message(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character",
    SUBDOMAIN_FORMAT,
    "example.com",
)
_SUBDOMAIN_CASELESS = regex_message(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character",
    SUBDOMAIN_FORMAT,
    "Example.com",
)
_UNDERSCORE = regex_message(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character",
    _UNDERSCORE_FORMAT,
    "example.com",
)
_DNS1035 = regex_message(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _DNS1035_FORMAT,
    "my-name",
    "abc-123",
)
_WILDCARD = regex_message(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD_FORMAT,
    "*.example.com",
)
_KEY = regex_message(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    KEY_FORMAT,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE = regex_message(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character",
    f"({KEY_FORMAT})?",
    "MyValue",
    "my_value",
    "12345",
)


def byte_length(value: str) -> int:
    """The length in bytes of UTF-8. Go's limits count bytes."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def _is_wildcard(value: str) -> bool:
    return value.startswith("*.") and _is_subdomain(value[2:])


def _checked(
    value: str, matches: Callable[[str], object], limit: int, message: str, unit: str = "characters"
) -> Messages:
    if matches(value) and len(value) <= limit:
        return VALID
    too_long = (max_length_message(limit, unit),) if byte_length(value) > limit else VALID
    return too_long if matches(value) else (*too_long, message)


@memo()
def is_dns1123_label(value: str) -> Messages:
    return _checked(value, _is_label, 63, "must not contain dots" if _is_subdomain(value) else _LABEL)


@memo()
def is_dns1123_subdomain(value: str) -> Messages:
    return _checked(value, _is_subdomain, 253, _SUBDOMAIN)


@memo(1 << 18)
def is_dns1123_subdomain_caseless(value: str) -> Messages:
    return _checked(value, _is_subdomain_caseless, 253, _SUBDOMAIN_CASELESS)


@memo(1 << 18)
def is_dns1123_subdomain_with_underscore(value: str) -> Messages:
    return _checked(value, _is_underscore, 253, _UNDERSCORE)


@memo(1 << 18)
def is_dns1035_label(value: str) -> Messages:
    return _checked(value, _is_dns1035, 63, _DNS1035)


@memo(1 << 18)
def is_wildcard_dns1123_subdomain(value: str) -> Messages:
    return _checked(value, _is_wildcard, 253, _WILDCARD)


@memo()
def is_qualified_name(value: str) -> Messages:
    """Checks keys of labels and annotations, condition types, and resource names: [prefix/]name, with a DNS prefix."""
    parts = value.split("/")
    name, found = parts[-1], list[str]()
    if len(parts) > 2:
        example = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_KEY} {example}",)
    if len(parts) == 2:
        messages = _checked(parts[0], _is_subdomain, 253, _SUBDOMAIN, "bytes") if parts[0] else ("must be non-empty",)
        found += [f"prefix part {text}" for text in messages]
    if not name:
        found.append("name part must be non-empty")
    elif byte_length(name) > 63:
        found.append(f"name part {max_length_message(63, 'bytes')}")
    if not _is_key_name(name):
        found.append(f"name part {_KEY}")
    return tuple(found)


@memo()
def is_label_value(value: str) -> Messages:
    if not value:
        return VALID
    return _checked(value, _is_key_name, 63, _VALUE, "bytes")


@memo()
def is_path_segment_name(value: str) -> Messages:
    """Names that only have to fit into a URL's path: not "." or "..", without "/" and "%"."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return is_path_segment_prefix(value)


def is_path_segment_prefix(value: str) -> Messages:
    return tuple(f"may not contain '{text}'" for text in ("/", "%") if text in value)


def _mask_trailing_dash(name: str) -> str:
    """Makes a trailing dash valid. A generateName may end with one, because the server appends a suffix."""
    return f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name


def name_is_dns_subdomain(name: str, prefix: bool) -> Messages:
    """The usual rule of object names; `prefix` is true for a generateName."""
    text = _mask_trailing_dash(name) if prefix else name
    return VALID if len(text) <= 253 and _is_short_subdomain(text) else is_dns1123_subdomain(text)  # most names are new


def name_is_dns_label(name: str, prefix: bool) -> Messages:
    text = _mask_trailing_dash(name) if prefix else name
    return VALID if len(text) <= 63 and _is_label(text) else is_dns1123_label(text)


def name_is_dns1035_label(name: str, prefix: bool) -> Messages:
    return is_dns1035_label(_mask_trailing_dash(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> Messages:
    return is_path_segment_prefix(name) if prefix else is_path_segment_name(name)


def name_is_declared_subdomain(name: str, prefix: bool) -> Messages:
    """For kinds with a declarative name rule: it does not check generateName, and its message counts bytes."""
    return VALID if prefix else _checked(name, _is_subdomain, 253, _SUBDOMAIN, "bytes")
