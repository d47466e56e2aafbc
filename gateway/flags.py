"""The flags of `apiserver-gateway serve`, named as kube-apiserver's where it has them; each is an environment variable
too: --etcd-servers is APISERVER_GATEWAY_ETCD_SERVERS. A flag wins over its variable.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.config import InvalidSettings, Settings

PREFIX = "APISERVER_GATEWAY_"


def _boolean(text: str) -> bool:
    match text.lower():
        case "true" | "t" | "1" | "yes":
            return True
        case "false" | "f" | "0" | "no":
            return False
    raise ValueError("give true or false")


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _paths(text: str) -> tuple[Path, ...]:
    return tuple(map(Path, _names(text)))


def _name_set(text: str) -> frozenset[str]:
    return frozenset(_names(text))


def _seconds(text: str) -> float:
    from gateway.http.deadline import parse_duration

    return parse_duration(text)


def _ports(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        raise ValueError("give a range of ports such as 30000-32767")
    low, high = int(first), int(last)
    if not 0 < low <= high < 65536:
        raise ValueError("give a range of ports such as 30000-32767")
    return low, high


def _network(text: str) -> str:
    from ipaddress import ip_network

    return ",".join(str(ip_network(part.strip())) for part in text.split(","))


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: the name, how its text becomes the setting of the same name, and what it is for."""

    name: str
    parse: Callable[[str], Any]
    help: str
    metavar: str = "TEXT"

    @property
    def setting(self) -> str:
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return PREFIX + self.setting.upper()


FLAGS = (
    Flag("bind-address", str, "address to listen on", "ADDRESS"),
    Flag("secure-port", int, "port to serve HTTPS on; 0 takes a free one", "PORT"),
    Flag("advertise-address", str, "address under which others reach this server", "ADDRESS"),
    Flag("cert-dir", Path, "where the generated certificates are kept", "DIR"),
    Flag("tls-cert-file", Path, "the server's certificate, PEM, instead of a generated one", "FILE"),
    Flag("tls-private-key-file", Path, "the certificate's key, PEM", "FILE"),
    Flag("etcd-servers", _names, "etcd endpoints, separated by commas", "URLS"),
    Flag("etcd-prefix", str, "what all keys in etcd start with", "PREFIX"),
    Flag("etcd-cafile", Path, "CA of etcd's certificates, PEM", "FILE"),
    Flag("etcd-certfile", Path, "client certificate for etcd, PEM", "FILE"),
    Flag("etcd-keyfile", Path, "the client certificate's key, PEM", "FILE"),
    Flag("etcd-username", str, "user for etcd, where it has authentication on", "NAME"),
    Flag("etcd-password", str, "the etcd user's password; better given as environment variable", "PASSWORD"),
    Flag("etcd-compaction-interval", _seconds, "time between compactions of etcd; 0 never compacts", "DURATION"),
    Flag("etcd-compaction-retention", _seconds, "how long etcd keeps old revisions", "DURATION"),
    Flag("embedded-etcd", _boolean, "run an etcd of its own, for development and tests", "BOOL"),
    Flag("data-dir", Path, "where the embedded etcd keeps its data; temporary if not given", "DIR"),
    Flag("token-auth-file", Path, 'CSV of bearer tokens: token,user,uid,"group1,group2"', "FILE"),
    Flag("admin-token", str, "bearer token of an administrator; made up where one is needed", "TOKEN"),
    Flag("anonymous-auth", _boolean, "let requests without credentials in as system:anonymous", "BOOL"),
    Flag("authorization-mode", _names, "who decides, in order: RBAC, AlwaysAllow, AlwaysDeny", "MODES"),
    Flag("service-cluster-ip-range", _network, "range that services' cluster IPs are taken from", "CIDR"),
    Flag("service-node-port-range", _ports, "range that services' node ports are taken from", "LOW-HIGH"),
    Flag("client-ca-file", Path, "CAs of client certificates, PEM: CN is the user, O the groups", "FILE"),
    Flag("requestheader-client-ca-file", Path, "CAs of the certificates of front proxies, PEM", "FILE"),
    Flag("requestheader-username-headers", _names, "headers in which a front proxy names the user", "NAMES"),
    Flag("requestheader-uid-headers", _names, "headers with the user's uid", "NAMES"),
    Flag("requestheader-group-headers", _names, "headers with the user's groups", "NAMES"),
    Flag("requestheader-extra-headers-prefix", _names, "what headers with the user's extra start with", "PREFIXES"),
    Flag("requestheader-allowed-names", _names, "common names that front proxies may have; any if not given", "NAMES"),
    Flag("enable-bootstrap-token-auth", _boolean, "let bootstrap tokens of kube-system in", "BOOL"),
    Flag("api-audiences", _names, "audiences of tokens for this server; the issuers if not given", "NAMES"),
    Flag("service-account-issuer", _names, "issuers of service account tokens; the first one's are made", "URLS"),
    Flag("service-account-key-file", _paths, "keys that verify service account tokens, PEM", "FILES"),
    Flag("service-account-lookup", _boolean, "legacy tokens are void without their secret", "BOOL"),
    Flag("service-account-extend-token-expiration", _boolean, "tokens that pods get live longer than they say", "BOOL"),
    Flag("service-account-max-token-expiration", _seconds, "longest life of a requested token; 0 is any", "DURATION"),
    Flag("service-account-jwks-uri", str, "where the issuer's document says its keys are", "URL"),
    Flag("service-account-signing-key-file", Path, "private key that signs service account tokens, PEM", "FILE"),
    Flag("allow-privileged", _boolean, "whether pods may have privileged containers", "BOOL"),
    Flag("enable-admission-plugins", _name_set, "admission plug-ins to switch on", "NAMES"),
    Flag("disable-admission-plugins", _name_set, "admission plug-ins to switch off", "NAMES"),
    Flag("kubeconfig-out", Path, "write a kubeconfig with an admin's token here", "FILE"),
    Flag("workers", int, "number of server processes on the port", "N"),
    Flag("header-timeout", _seconds, "time for the TLS handshake, and for a request's headers", "DURATION"),
    Flag("min-body-rate", int, "bytes a second that a request's body has to come at; 0 is any", "BYTES"),
    Flag("max-connections-per-address", int, "connections that one address may have with a process", "N"),
    Flag("shutdown-timeout", _seconds, "time until a server that does not stop is killed", "DURATION"),
    Flag("log-format", str, "text or json", "FORMAT"),
)


_LISTS = (_names, _name_set, _paths)  # may be given several times


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds all flags to a parser."""
    defaults = Settings()
    for flag in FLAGS:
        default = _shown(getattr(defaults, flag.setting))
        boolean = flag.parse is _boolean
        parser.add_argument(
            f"--{flag.name}",
            metavar=flag.metavar,
            nargs="?" if boolean else None,
            action="append" if flag.parse in _LISTS else "store",
            const="true" if boolean else None,
            help=f"{flag.help} (default {default})" if default else flag.help,
        )


def _shown(value: object) -> str:
    match value:
        case None | "" | () | frozenset():
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}s"
        case (int(low), int(high)):
            return f"{low}-{high}"
        case tuple():
            return ",".join(map(str, value))
    return str(value)


def settings_from(arguments: argparse.Namespace, environment: Mapping[str, str]) -> Settings:
    """The settings that flags and environment give; raises InvalidSettings naming the flag that is wrong."""
    values: dict[str, Any] = {}
    for flag in FLAGS:
        text, source = getattr(arguments, flag.setting), f"--{flag.name}"
        if isinstance(text, list):
            text = ",".join(text)
        if text is None:
            text, source = environment.get(flag.variable), flag.variable
        if text is None or text == "":
            continue
        try:
            values[flag.setting] = flag.parse(text)
        except ValueError as error:
            raise InvalidSettings(f"{source}={text}: {error}") from None
    settings = Settings(**values)
    settings.check()
    return settings
