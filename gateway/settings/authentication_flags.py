"""The flags of authentication."""

from __future__ import annotations

from pathlib import Path

from gateway.settings.config import REVIEW_VERSIONS
from gateway.settings.flag import Flag
from gateway.settings.flag_values import (
    SIGNING_ALGORITHMS,
    algorithms,
    boolean,
    issuer,
    names,
    pairs,
    paths,
    seconds,
    token,
)

AUTHENTICATION: tuple[str, tuple[Flag, ...]] = (
    "Authentication",
    (
        Flag("anonymous-auth", boolean, "let requests without credentials in as system:anonymous", "BOOL"),
        Flag("api-audiences", names, "audiences of tokens for this server (default: the issuers)", "NAMES"),
        Flag(
            "authentication-config",
            Path,
            "an AuthenticationConfiguration: issuers of tokens, and paths that need no credentials",
            "FILE",
        ),
        Flag(
            "authentication-token-webhook-config-file",
            Path,
            "kubeconfig of a service that authenticates tokens",
            "FILE",
        ),
        Flag(
            "authentication-token-webhook-version",
            str,
            "version of the TokenReviews that are sent to the service",
            "VERSION",
            choices=REVIEW_VERSIONS,
        ),
        Flag(
            "authentication-token-webhook-cache-ttl", seconds, "how long answers of the service are cached", "DURATION"
        ),
        Flag(
            "admin-token",
            token,
            "bearer token of an administrator (default: a random token, if one is needed)",
            "TOKEN",
        ),
        Flag("client-ca-file", Path, "CAs of client certificates, PEM: CN is the user, O the groups", "FILE"),
        Flag(
            "enable-bootstrap-token-auth",
            boolean,
            "accept bootstrap tokens, which are Secrets in kube-system",
            "BOOL",
        ),
        Flag("oidc-issuer-url", issuer, "issuer of OpenID Connect tokens, https only", "URL"),
        Flag("oidc-client-id", str, "client ID, which tokens must have as their audience", "ID"),
        Flag(
            "oidc-ca-file",
            Path,
            "CAs of the issuer's certificate, PEM (default: the CAs of the operating system)",
            "FILE",
        ),
        Flag("oidc-username-claim", str, "claim with the user's name", "CLAIM"),
        Flag(
            "oidc-username-prefix",
            str,
            "prefix of user names; - for no prefix (default: the issuer's URL)",
        ),
        Flag("oidc-groups-claim", str, "claim with the user's groups", "CLAIM"),
        Flag("oidc-groups-prefix", str, "prefix of groups"),
        Flag("oidc-required-claim", pairs, "claims that tokens must have: claim=value", "CLAIMS"),
        Flag(
            "oidc-signing-algs",
            algorithms,
            "algorithms that tokens may be signed with",
            "NAMES",
            choices=SIGNING_ALGORITHMS,
        ),
        Flag("requestheader-client-ca-file", Path, "CAs of the certificates of front proxies, PEM", "FILE"),
        Flag("requestheader-username-headers", names, "headers in which a front proxy names the user", "NAMES"),
        Flag("requestheader-uid-headers", names, "headers with the user's uid", "NAMES"),
        Flag("requestheader-group-headers", names, "headers with the user's groups", "NAMES"),
        Flag(
            "requestheader-extra-headers-prefix", names, "prefixes of headers with the user's extra fields", "PREFIXES"
        ),
        Flag(
            "requestheader-allowed-names",
            names,
            "allowed common names of front proxies (default: any)",
            "NAMES",
        ),
        Flag(
            "service-account-issuer", names, "issuers of service account tokens; new tokens have the first one", "URLS"
        ),
        Flag("service-account-key-file", paths, "keys that verify service account tokens, PEM", "FILES"),
        Flag("service-account-lookup", boolean, "refuse legacy tokens whose secret was deleted", "BOOL"),
        Flag(
            "service-account-extend-token-expiration",
            boolean,
            "let tokens of pods stay valid after their expiry, for clients that do not reload them",
            "BOOL",
        ),
        Flag(
            "service-account-max-token-expiration",
            seconds,
            "longest lifetime of a requested token; 0: no limit",
            "DURATION",
        ),
        Flag("service-account-jwks-uri", str, "URL of the issuer's keys, for its discovery document", "URL"),
        Flag("token-auth-file", Path, 'CSV of bearer tokens: token,user,uid,"group1,group2"', "FILE"),
    ),
)
