"""Which requests a fault concerns: patterns of verb, resource, name, user and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gateway.http.request_info import RequestInfo
from gateway.http.status import bad_request
from gateway.http.user import User

FIELDS = ("verb", "group", "resource", "subresource", "namespace", "name", "user", "user_agent")
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
MOST_PATTERNS, LONGEST_PATTERN = 100, 1000


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one field. The field has to match one of `wanted`, if there are any, and none of `unwanted`.
    Tests write a "!" before unwanted patterns.
    """

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]

    def fit(self, text: str) -> bool:
        """Whether a text matches; "*", "?" and "[ab]" in patterns mean the same as in a shell."""
        if any(fnmatchcase(text, pattern) for pattern in self.unwanted):
            return False
        return not self.wanted or any(fnmatchcase(text, pattern) for pattern in self.wanted)


@dataclass(frozen=True, slots=True)
class Concern:
    """The requests that a fault concerns: those that match the patterns of all `fields`."""

    fields: Mapping[str, Patterns]

    def includes(self, user: User, info: RequestInfo, agent: str) -> bool:
        """Whether a request matches; `agent` is its user agent."""
        if not info.is_resource:
            return False
        for name, patterns in self.fields.items():
            found = user.name if name == "user" else agent if name == "user_agent" else getattr(info, name)
            if not patterns.fit(found):
                return False
        return True


def concern_of(asked: Mapping[str, Any]) -> Concern:
    """Reads the patterns of a fault. Raises StatusError 400.

    As in the rules of a ClusterRole, `deployments` means the objects, and `deployments/scale` the subresource only.
    """
    fields = {name: _patterns(name, asked[name]) for name in FIELDS if asked.get(name) not in (None, [], "")}
    resource = fields.get("resource")
    if resource is not None and "subresource" not in fields:
        parted = [pattern.partition("/") for pattern in resource.wanted]
        fields["resource"] = Patterns(tuple(each[0] for each in parted), resource.unwanted)
        if any(each[0] != "*" or each[1] for each in parted):
            fields["subresource"] = Patterns(tuple(each[2] for each in parted), ())
    return Concern(fields)


def check_words(asked: Mapping[str, Any], plurals: Mapping[str, str]) -> None:
    """Raises StatusError 400 for an unknown verb, and for the singular name of a resource: such a fault would match no
    request. `plurals` maps singular names to plural names.
    """
    for name in ("verb", "resource"):
        patterns = _patterns(name, asked.get(name) or ())
        for text in (*patterns.wanted, *patterns.unwanted):
            if name == "verb" and not any(fnmatchcase(verb, text) for verb in VERBS):
                raise bad_request(f"no request has the verb {text!r:.100}; there are {', '.join(VERBS)}")
            if name == "resource" and (plural := plurals.get(text.partition("/")[0].lower())):
                raise bad_request(f"resource of a fault: {text!r:.100} is a kind, say {plural!r}")


def _patterns(name: str, given: Any) -> Patterns:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise bad_request(f"{name} of a fault is a pattern or a list of patterns, not {given!r:.100}")
    if len(texts) > MOST_PATTERNS or any(len(text) > LONGEST_PATTERN for text in texts):
        raise bad_request(f"{name} of a fault: {MOST_PATTERNS} patterns of {LONGEST_PATTERN} characters at most")
    unwanted = tuple(text[1:] for text in texts if text.startswith("!"))
    return Patterns(tuple(text for text in texts if not text.startswith("!")), unwanted)
