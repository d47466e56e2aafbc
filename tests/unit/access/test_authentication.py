"""Static tokens from kube-apiserver's CSV file. A request without credentials is anonymous if that is allowed."""

import pytest

from gateway.access.authentication import ANONYMOUS_USER, AudienceAgnostic, Authenticator, InvalidCredentials
from gateway.access.authorization import forbidden
from gateway.access.token_file import InvalidTokenFile, StaticTokens, parse_tokens
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes

TOKENS = 'tok,admin,1,system:masters\nalice-token,alice,2,"team-a,team-b"\nbob-token,bob,3\n\n'
USERS = parse_tokens(TOKENS)


def test_the_token_file_gives_names_uids_and_groups() -> None:
    assert USERS["alice-token"] == User("alice", ("team-a", "team-b", "system:authenticated"), "2")
    assert USERS["bob-token"] == User("bob", ("system:authenticated",), "3")


def test_a_short_line_is_named() -> None:
    with pytest.raises(InvalidTokenFile, match=r"tokens\.csv:2"):
        parse_tokens("a,b,c\nd,e\n", "tokens.csv")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (b"Bearer tok", "admin"),
        (b"bearer bob-token", "bob"),
        (b"Bearer bob-token extra", "bob"),
        (b"Bearer ", "system:anonymous"),
        (b"", "system:anonymous"),
        (b"Basic Ym9iOmJvYg==", "system:anonymous"),
        (b"Bearer wrong", None),
    ],
)
async def test_headers_name_users(header: bytes, name: str | None) -> None:
    user = await Authenticator([StaticTokens(USERS)], ["api"]).authenticate({b"authorization": header})
    assert (user.name if user else None) == name


@pytest.mark.parametrize(
    ("wanted", "common"),
    [(("api",), ("api",)), (("x", "api"), ("api",)), (("api", "api"), ("api", "api")), (("x",), None)],
)
async def test_tokens_that_name_no_audience_are_meant_for_the_server(
    wanted: tuple[str, ...], common: tuple[str, ...] | None
) -> None:
    authenticator = Authenticator([AudienceAgnostic(StaticTokens(USERS), ["api", "other"])], ["api", "other"])
    if common is None:
        with pytest.raises(InvalidCredentials, match="invalid bearer token"):
            await authenticator.review("tok", wanted)
    else:
        assert (await authenticator.review("tok", wanted)).audiences == common


async def test_nobody_is_let_in_without_credentials_unless_anonymous_is_on() -> None:
    tokens = [StaticTokens(USERS)]
    assert await Authenticator(tokens, ["api"]).authenticate({}) is ANONYMOUS_USER
    assert await Authenticator(tokens, ["api"], anonymous=False).authenticate({}) is None


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/metrics", 'forbidden: User "bob" cannot get path "/metrics"'),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/x/deployments/d/scale",
            'deployments.apps "d" is forbidden: User "bob" cannot patch resource "deployments/scale" '
            'in API group "apps" in the namespace "x"',
        ),
        (
            "GET",
            "/api/v1/nodes",
            'nodes is forbidden: User "bob" cannot list resource "nodes" in API group "" at the cluster scope',
        ),
    ],
)
def test_refusals_say_who_may_not_do_what(method: str, path: str, message: str) -> None:
    error = forbidden(Attributes(USERS["bob-token"], request_info(method, path, {})), "")
    assert (error.code, error.message) == (403, message)
