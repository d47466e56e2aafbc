"""The --oidc flags: users have a prefix unless their name is a mail address, or the flag says that there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.access.issuers.settings import Mapping, issuer_of_flags


@pytest.mark.parametrize(
    ("claim", "flag", "prefix"),
    [
        ("sub", "", "https://e.com#"),
        ("email", "", ""),
        ("sub", "-", ""),
        ("email", "-", ""),
        ("sub", "oidc:", "oidc:"),
        ("email", "oidc:", "oidc:"),
    ],
)
def test_users_of_other_claims_than_mail_have_a_prefix(claim: str, flag: str, prefix: str) -> None:
    flags: Any = SimpleNamespace(
        oidc_issuer_url="https://e.com",
        oidc_client_id="one",
        oidc_username_claim=claim,
        oidc_username_prefix=flag,
        oidc_groups_claim="groups",
        oidc_groups_prefix="g:",
        oidc_ca_file=None,
        oidc_signing_algs=("RS256",),
        oidc_required_claim=["team=a=b"],
    )
    found = issuer_of_flags(flags)
    assert found is not None
    assert (found.username, found.groups) == (Mapping(claim, prefix), Mapping("groups", "g:"))
    assert found.required_claims == (("team", "a=b"),)
    flags.oidc_issuer_url = ""
    assert issuer_of_flags(flags) is None
