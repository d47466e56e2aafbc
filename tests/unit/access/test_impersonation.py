"""Impersonation: the user that the headers name, the required rights, and the user of the request then."""

from __future__ import annotations

from collections import Counter

import pytest

from gateway.access.authorization import ALLOWED, NO_OPINION, AuthorizationUndecided, Verdict
from gateway.access.impersonation import Impersonation, _extra_problem
from gateway.http.request_info import request_info
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.kinds.attributes import Attributes
from storage.instruments.families import Counters, declared

ADA = User("ada", ("system:authenticated",))
PATH = "/api/v1/namespaces/x/secrets"


class Asked:
    """Allows some questions, each "verb resource/subresource name", and remembers all."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.questions: list[str] = []

    def known(self, attributes: Attributes) -> Verdict | None:
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        info = attributes.info
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        question = f"{info.verb} {resource} {info.name}".strip()
        self.questions.append(question)
        return ALLOWED if question in self._allowed or "everything" in self._allowed else NO_OPINION


def headers(**values: str) -> list[tuple[bytes, bytes]]:
    return [(f"impersonate-{name.replace('_', '-')}".encode(), value.encode()) for name, value in values.items()]


async def become(authorizer: Asked, *given: tuple[bytes, bytes], who: User = ADA) -> User:
    return await Impersonation(authorizer).user(given, Attributes(who, request_info("GET", PATH, {})))


async def test_the_plain_verb_is_enough_and_every_part_is_asked_about() -> None:
    allowed = ["impersonate users joe", "impersonate groups devs", "impersonate userextras/scopes view"]
    given = headers(user="joe", group="devs", extra_scopes="view")
    user = await become(Asked(*allowed), *given)
    assert user == User("joe", ("devs", "system:authenticated"), "", (("scopes", ("view",)),))
    for missing in allowed:
        with pytest.raises(StatusError) as refused:
            await become(Asked(*(each for each in allowed if each != missing)), *given)
        assert refused.value.code == 403


async def test_a_mode_asks_for_the_request_too() -> None:
    on, name = "impersonate-on:user-info:list secrets", "impersonate:user-info users joe"
    assert (await become(Asked(on, name), *headers(user="joe"))).name == "joe"
    for only in (on, name):
        with pytest.raises(StatusError):
            await become(Asked(only), *headers(user="joe"))


ACCOUNT = "system:serviceaccount:x:robot"


@pytest.mark.parametrize(("wanted", "name"), [("system:node:a", "nodes a"), (ACCOUNT, "serviceaccounts robot")])
async def test_the_right_to_be_a_user_makes_no_node_and_no_account(wanted: str, name: str) -> None:
    """KEP-5284: they have modes of their own."""
    rights = ["impersonate-on:user-info:list secrets"]
    rights += [f"impersonate:user-info {each}" for each in (name, f"users {wanted}")]
    with pytest.raises(StatusError):
        await become(Asked(*rights), *headers(user=wanted))


@pytest.mark.parametrize(
    ("mode", "wanted", "name"),
    [
        ("arbitrary-node", "system:node:a", "nodes a"),
        ("serviceaccount", ACCOUNT, "serviceaccounts robot"),
    ],
)
async def test_a_node_or_an_account_comes_without_other_parts(mode: str, wanted: str, name: str) -> None:
    """KEP-5284: the modes for them take a name alone."""
    rights = [f"impersonate-on:{mode}:list secrets", f"impersonate:{mode} {name}"]
    assert (await become(Asked(*rights), *headers(user=wanted))).name == wanted
    rights += [
        f"impersonate:{mode} groups devs",
        f"impersonate:{mode} uids 1",
        f"impersonate:{mode} userextras/a.io/b c",
    ]
    for more in ({"group": "devs"}, {"uid": "1"}):
        with pytest.raises(StatusError):
            await become(Asked(*rights), *headers(user=wanted, **more))
    with pytest.raises(StatusError):
        await become(Asked(*rights), *headers(user="joe"))


@pytest.mark.parametrize(
    ("who", "on", "wanted", "may"),
    [
        (ACCOUNT, "a", "system:node:a", True),
        (ACCOUNT, "b", "system:node:a", False),  # it runs on another node
        (ACCOUNT, "", "system:node:a", False),
        ("ada", "a", "system:node:a", False),  # only a service account runs on a node
        (ACCOUNT, "a", "joe", False),
    ],
)
async def test_a_service_account_may_be_its_own_node(who: str, on: str, wanted: str, may: bool) -> None:
    """KEP-5284: the mode associated-node."""
    extra = (("authentication.kubernetes.io/node-name", (on,)),) if on else ()
    own = User(who, ("system:authenticated",), "", extra)
    authorizer = Asked("impersonate-on:associated-node:list secrets", "impersonate:associated-node nodes *")
    try:
        user = await become(authorizer, *headers(user=wanted), who=own)
    except StatusError:
        assert not may, authorizer.questions
    else:
        assert may and user.name == wanted


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("joe", ("system:authenticated",)),
        ("system:anonymous", ("system:unauthenticated",)),
        (
            "system:serviceaccount:x:robot",
            ("system:serviceaccounts", "system:serviceaccounts:x", "system:authenticated"),
        ),
        ("system:node:a", ("system:nodes", "system:authenticated")),
    ],
)
async def test_groups_that_come_by_themselves(name: str, groups: tuple[str, ...]) -> None:
    assert (await become(Asked("everything"), *headers(user=name))).groups == groups


async def test_no_mode_makes_a_master_but_the_plain_verb_does() -> None:
    given = headers(user="joe", group="system:masters")
    modes = ["impersonate-on:user-info:list secrets", "impersonate:user-info users joe"]
    modes.append("impersonate:user-info groups system:masters")
    with pytest.raises(StatusError, match="impersonating the system:masters group is not allowed"):
        await become(Asked(*modes), *given)
    plain = Asked("impersonate users joe", "impersonate groups system:masters")
    assert "system:masters" in (await become(plain, *given)).groups


@pytest.mark.parametrize("given", [headers(group="devs"), headers(uid="7"), headers(extra_a="b")])
async def test_headers_without_a_user_are_a_mistake(given: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(StatusError) as refused:
        await become(Asked("everything"), *given)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (headers(group="devs"), "[{Group  devs    }]"),
        (headers(extra_scopes="a"), "[{UserExtra  a  authentication.k8s.io/v1  scopes}]"),
        (headers(uid="7"), "[{UID  7  authentication.k8s.io/v1  }]"),
    ],
)
async def test_without_constrained_impersonation_a_mistake_shows_references(
    given: list[tuple[bytes, bytes]], shown: str
) -> None:
    attributes, message = (
        Attributes(ADA, request_info("GET", PATH, {})),
        f"requested {shown} without impersonating a user",
    )
    with pytest.raises(StatusError) as refused:
        await Impersonation(Asked("everything"), constrained=False).user(given, attributes)
    assert (refused.value.code, refused.value.message) == (400, message)
    with pytest.raises(AuthorizationUndecided, match="without impersonating a user"):
        await Impersonation(Asked("everything"), constrained=False, refuses_nameless=False).user(given, attributes)


async def test_the_last_successful_mode_is_asked_first() -> None:
    authorizer = Asked("impersonate users joe")
    impersonation = Impersonation(authorizer)
    attributes = Attributes(ADA, request_info("GET", PATH, {}))
    for _ in range(2):
        authorizer.questions.clear()
        await impersonation.user(headers(user="joe"), attributes)
    assert authorizer.questions == ["impersonate users joe"]


async def test_without_constrained_impersonation_the_plain_verb_alone_counts() -> None:
    authorizer = Asked("impersonate-on:user-info:list secrets", "impersonate:user-info users joe")
    attributes = Attributes(ADA, request_info("GET", PATH, {}))
    with pytest.raises(StatusError) as refused:
        await Impersonation(authorizer, constrained=False).user(headers(user="joe"), attributes)
    assert refused.value.code == 403 and authorizer.questions == ["impersonate users joe"]


@pytest.mark.parametrize(
    ("key", "values", "problem"),
    [
        ("example.com/scopes", ("a",), ""),
        ("", ("a",), "the empty string key"),
        ("scopes", ("a",), "an invalid key"),
        ("example.com/", ("a",), "an invalid key"),
        ("/scopes", ("a",), "an invalid key"),
        ("exa_mple.com/scopes", ("a",), "an invalid key"),
        ("example.com/Scopes", ("a",), "a non-lowercase key"),
        ("example.com/scopes", ("a", ""), "the empty string value"),
    ],
)
def test_keys_that_a_mode_allows_have_a_domain_and_are_lowercase(
    key: str, values: tuple[str, ...], problem: str
) -> None:
    found = _extra_problem(key, values)
    assert found.startswith(f"impersonating {problem} in extra is not allowed") if problem else not found


ON, JOE = "impersonate-on:user-info:list secrets", "impersonate:user-info users joe"
ALL_GROUPS, ALL_EXTRA = "impersonate:user-info groups *", "impersonate:user-info userextras/* *"


def extra(keys: int, values: int) -> list[tuple[bytes, bytes]]:
    names = (f"impersonate-extra-e.com%2fk{key}".encode() for key in range(keys))
    return [(name, f"v{value}".encode()) for name in names for value in range(values)]


@pytest.mark.parametrize(
    ("given", "all_", "asked_at_once"),
    [
        ([(b"impersonate-group", f"g{number}".encode()) for number in range(3)], ALL_GROUPS, False),
        ([(b"impersonate-group", f"g{number}".encode()) for number in range(4)], ALL_GROUPS, True),
        (extra(3, 1), ALL_EXTRA, False),
        (extra(1, 3), ALL_EXTRA, False),
        (extra(4, 1), ALL_EXTRA, True),
        (extra(1, 4), ALL_EXTRA, True),
    ],
)
async def test_the_right_to_all_is_asked_for_first_if_there_are_many(
    given: list[tuple[bytes, bytes]], all_: str, asked_at_once: bool
) -> None:
    asked = Asked("everything")
    await become(asked, *headers(user="joe"), *given)
    assert (all_ in asked.questions) is asked_at_once
    assert len([each for each in asked.questions if each not in (ON, JOE)]) == (1 if asked_at_once else 3)
    if asked_at_once:  # without that right, each of them is asked for
        each = Asked(ON, JOE)
        with pytest.raises(StatusError):
            await become(each, *headers(user="joe"), *given)
        assert len([one for one in each.questions if one.startswith("impersonate:user-info") and one != JOE]) >= 2


def counted(family: str) -> dict[tuple[str, ...], float]:
    """The numbers of a family of counters, by mode and decision."""
    return {
        labels: child.value
        for each in declared()
        if each.name == f"apiserver_impersonation_{family}_total" and isinstance(each, Counters)
        for labels, child in each.children()
    }


async def test_attempts_and_questions_are_counted_by_mode_and_decision() -> None:
    before = Counter(counted("attempts")), Counter(counted("authorization_attempts"))
    on, name = "impersonate-on:user-info:list secrets", "impersonate:user-info users joe"
    await become(Asked(on, name), *headers(user="joe"))
    await become(Asked("impersonate users joe"), *headers(user="joe"))
    with pytest.raises(StatusError):
        await become(Asked(), *headers(user="joe"))
    assert Counter(counted("attempts")) - before[0] == {
        ("user-info", "allowed"): 1,
        ("legacy", "allowed"): 1,
        ("", "denied"): 1,
    }
    assert Counter(counted("authorization_attempts")) - before[1] == {
        ("user-info", "allowed"): 2,
        ("user-info", "denied"): 2,
        ("legacy", "allowed"): 1,
        ("legacy", "denied"): 1,
    }
