"""Cost estimates: the size of a string from a library function is bounded by those of its arguments."""

from __future__ import annotations

import pytest

from gateway.cel.compiled_rules import compile_rules
from gateway.cel.estimates import estimate
from gateway.cel.schema_types import declare

BUDGET = 10_000_000  # of one rule
TEXT = {"type": "string", "maxLength": 300}
SCHEMA = {
    "type": "object",
    "properties": {
        "url": TEXT,
        "ip": {"type": "string", "maxLength": 40},
        "texts": {"type": "array", "maxItems": 10, "items": TEXT},
        "parts": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"name": TEXT}}},
    },
}
PATTERN = "'^[a-z]+([a-z0-9./-]*[a-z0-9])?$'"


def most(expression: str) -> int:
    """What a rule may cost at most."""
    declared = declare(SCHEMA, root=False)
    assert declared is not None
    (rule,) = compile_rules([{"rule": expression}], SCHEMA, declared)
    assert rule.program is not None, rule.error
    return estimate(rule.program.tree, declared).most


@pytest.mark.parametrize("part", ["getScheme()", "getHost()", "getHostname()", "getPort()", "getEscapedPath()"])
def test_parts_of_an_url_are_no_longer_than_it(part: str) -> None:
    direct, cost = most(f"self.url.matches({PATTERN})"), most(f"url(self.url).{part}.matches({PATTERN})")
    assert direct < cost < (4 if "Path" in part else 2) * direct + 100


def test_the_query_of_an_url_has_no_more_members_than_the_url_has_characters() -> None:
    assert most("url(self.url).getQuery().all(name, name != 'a')") < BUDGET


@pytest.mark.parametrize("made", ["ip(self.ip)", "cidr(self.ip)", "cidr(self.ip).ip()", "cidr(self.ip).masked()"])
def test_addresses_as_texts_have_their_greatest_length(made: str) -> None:
    assert most(f"string({made}).matches({PATTERN})") < BUDGET


@pytest.mark.parametrize(
    "made",
    [
        "self.texts.join('/')",
        "[self.url, self.ip].join('/')",
        "['a', 'b'].join(self.url)",
        "self.parts.map(each, each.name).join(',')",
        "self.texts.map(each, url(each).getHost()).join(',')",
        "(self.texts + [self.url]).map(each, each).join()",
    ],
)
def test_joined_texts_are_as_long_as_all_of_them(made: str) -> None:
    assert most(f"{made}.matches({PATTERN})") < BUDGET
