"""Claims become a user as the settings of their issuer say; what is missing, of another type or refused is an error."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.access.issuers.claim_mapper import CREDENTIAL_ID, ClaimError, Mapper
from gateway.access.issuers.settings import IssuerSettings, Mapping, ValidationRule
from gateway.http.user import User

CLAIMS = {"sub": "ada", "groups": ["a", "b"], "email": "ada@e.com"}


def user(claims: dict[str, Any], **settings: Any) -> User:
    named = {"username": Mapping("sub")} | settings
    return Mapper(IssuerSettings("https://e.com", ("one",), **named), lambda gate: True).user(CLAIMS | claims)


def said(claims: dict[str, Any], **settings: Any) -> str:
    """The error for some claims."""
    with pytest.raises(ClaimError) as refused:
        user(claims, **settings)
    return str(refused.value)


def test_claims_are_copied_behind_their_prefixes() -> None:
    found = user({"jti": "7"}, username=Mapping("sub", "oidc:"), groups=Mapping("groups", "g:"), uid=Mapping("email"))
    assert found == User("oidc:ada", ("g:a", "g:b"), "ada@e.com", ((CREDENTIAL_ID, ("JTI=7",)),))
    assert user({}) == User("ada")


@pytest.mark.parametrize(("groups", "found"), [("a", ("a",)), (["a", "b"], ("a", "b")), (None, ()), ([], ())])
def test_groups_are_a_text_or_texts(groups: Any, found: tuple[str, ...]) -> None:
    assert user({"groups": groups}, groups=Mapping("groups")).groups == found
    assert user({}, groups=Mapping("absent")).groups == ()


@pytest.mark.parametrize("groups", [7, {"a": "b"}, ["a", 7]], ids=str)
def test_other_groups_are_refused(groups: Any) -> None:
    assert "it is neither a string nor a list of strings" in said({"groups": groups}, groups=Mapping("groups"))
    text = "expression must return a string or a list of strings"
    assert text in said({"groups": groups}, groups=Mapping(expression="claims.groups"))


@pytest.mark.parametrize(("groups", "found"), [("a", ("a",)), (["a", "", "b"], ("a", "b")), (None, ())])
def test_groups_of_an_expression_are_not_empty(groups: Any, found: tuple[str, ...]) -> None:
    assert user({"groups": groups}, groups=Mapping(expression="claims.groups")).groups == found


def test_a_name_is_a_text() -> None:
    assert said({"sub": 7}) == 'oidc: parse username claims "sub": it is not a string'
    assert said({}, username=Mapping("absent")) == 'oidc: parse username claims "absent": claim not present'
    assert "must return a string" in said({"sub": 7}, username=Mapping(expression="claims.sub"))
    assert "empty username" in said({"sub": ""}, username=Mapping(expression="claims.sub"))
    assert user({}, username=Mapping(expression="claims.sub + '!'")).name == "ada!"


def test_a_mail_address_that_is_not_verified_is_no_name() -> None:
    by_mail = {"username": Mapping("email")}
    assert user({}, **by_mail).name == user({"email_verified": True}, **by_mail).name == "ada@e.com"
    assert said({"email_verified": False}, **by_mail) == "oidc: email not verified"
    assert "it is not a boolean" in said({"email_verified": "true"}, **by_mail)
    assert user({"email_verified": False}).name == "ada"


def test_required_claims_have_their_values() -> None:
    assert user({"team": "x"}, required_claims=(("team", "x"),)).name == "ada"
    assert "required claim team not present" in said({}, required_claims=(("team", "x"),))
    assert "Got = y, want = x" in said({"team": "y"}, required_claims=(("team", "x"),))


def test_rules_are_true() -> None:
    of_claims = {"claim_rules": (ValidationRule("claims.sub != 'eve'", "not her"),)}
    of_user = {"user_rules": (ValidationRule("!user.username.startsWith('system:')", "reserved"),)}
    assert user({}, **of_claims, **of_user).name == "ada"
    assert "not her" in said({"sub": "eve"}, **of_claims)
    assert "reserved" in said({"sub": "system:x"}, **of_user)


def test_extra_of_expressions_is_left_out_if_empty() -> None:
    extra = {"extra": (("e.com/a", "claims.groups"), ("e.com/b", "''"))}
    assert user({}, **extra).extra == (("e.com/a", ("a", "b")),)
