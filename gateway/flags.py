"""The flags of `apiserver-gateway serve`, named as kube-apiserver's where it has them; each is an environment variable
too: --etcd-servers is APISERVER_GATEWAY_ETCD_SERVERS. A flag wins over its variable.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.config import InvalidSettings, Settings

PREFIX = "APISERVER_GATEWAY_"

SECRET = ("admin_token", "etcd_password")

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


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
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    low, high = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 0 < low <= high < 65536:
        raise ValueError("give a range of ports such as 30000-32767")
    return low, high


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise ValueError("give a port from 0 to 65535")
    return int(text)


def _address(text: str) -> str:
    from ipaddress import ip_address

    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        raise ValueError("give an IP address such as 127.0.0.1, not a host name") from None


def _host(text: str) -> str:
    """An address, or a DNS name, wildcards included."""
    from ipaddress import ip_address

    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        labels = text.removeprefix("*.").removesuffix(".").split(".")
        if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            raise ValueError("give host names or IP addresses") from None
        return text.removesuffix(".").lower()


def _hosts(text: str) -> tuple[str, ...]:
    return tuple(map(_host, _names(text)))


def _server(text: str) -> str:
    """The URL of a server, https where it names no scheme."""
    from urllib.parse import urlsplit

    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        _host(parts.hostname or "")
        valid = parts.scheme == "https" and parts.port != 0 and not parts.query and not parts.username
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("give a URL such as https://api.example.org:6443")
    return url.rstrip("/")


def _network(text: str) -> str:
    from ipaddress import ip_network

    networks = [ip_network(part.strip()) for part in text.split(",")]
    if any(network.num_addresses < 8 for network in networks):
        raise ValueError("the range must have at least 8 addresses")
    return ",".join(map(str, networks))


def _endpoints(text: str) -> tuple[str, ...]:
    names = _names(text)
    for name in names:
        scheme, separator, _ = name.partition("://")
        if (separator and scheme not in ("http", "https", "unix")) or len(name.split()) != 1:
            raise ValueError("give URLs such as http://127.0.0.1:2379")
    return names


def _issuer(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("give a URL such as https://accounts.example.org, without query or fragment")
    return text


def _pairs(text: str) -> tuple[str, ...]:
    pairs = _names(text)
    if not all("=" in pair for pair in pairs):
        raise ValueError("give pairs such as claim=value")
    return pairs


def _algorithms(text: str) -> tuple[str, ...]:
    names, known = _names(text), {f"{kind}{size}" for kind in ("RS", "ES", "PS") for size in (256, 384, 512)}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"{unknown[0]} is none of {', '.join(sorted(known))}")
    return names


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text)):
        raise ValueError("give a number from 1 to 999")
    return int(text)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise ValueError("give a number from 0 to 9999999")
    return int(text)


def _token(text: str) -> str:
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("a token has neither spaces nor characters outside of ASCII")
    return text


def _format(text: str) -> str:
    if text not in ("text", "json"):
        raise ValueError("give text or json")
    return text


def _gates(text: str) -> frozenset[str]:
    """The gates that are switched on."""
    on = set[str]()
    for part in _names(text):
        name, separator, value = part.partition("=")
        if not separator:
            raise ValueError("give Name=true or Name=false")
        (on.add if _boolean(value) else on.discard)(name.strip())
    return frozenset(on)


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
    Flag("bind-address", _address, "address to listen on", "ADDRESS"),
    Flag("secure-port", _port, "port to serve HTTPS on; 0 takes a free one", "PORT"),
    Flag("advertise-address", _host, "address or host name under which others reach this server", "HOST"),
    Flag("cert-dir", Path, "where generated certificates, keys and the administrator's token are kept", "DIR"),
    Flag("tls-cert-file", Path, "the server's certificate, PEM, instead of a generated one", "FILE"),
    Flag("tls-private-key-file", Path, "the certificate's key, PEM", "FILE"),
    Flag("tls-san", _hosts, "more host names and addresses for the generated certificate", "HOSTS"),
    Flag(
        "identity-key-file",
        Path,
        "a secret that replicas share: CA, keys and administrator's token are then kept in etcd, sealed with it",
        "FILE",
    ),
    Flag("etcd-servers", _endpoints, "etcd endpoints, separated by commas", "URLS"),
    Flag("etcd-prefix", str, "what all keys in etcd start with", "PREFIX"),
    Flag("etcd-cafile", Path, "CA of etcd's certificates, PEM", "FILE"),
    Flag("etcd-certfile", Path, "client certificate for etcd, PEM", "FILE"),
    Flag("etcd-keyfile", Path, "the client certificate's key, PEM", "FILE"),
    Flag("etcd-username", str, "user for etcd, where it has authentication on", "NAME"),
    Flag("etcd-password", str, "the etcd user's password; better given as environment variable", "PASSWORD"),
    Flag("etcd-compaction-interval", _seconds, "time between compactions of etcd; 0 never compacts", "DURATION"),
    Flag("etcd-compaction-retention", _seconds, "how long etcd keeps old revisions", "DURATION"),
    Flag(
        "consistency-check-interval",
        _seconds,
        "time between comparisons of cache and etcd; 0: never",
        "DURATION",
    ),
    Flag("embedded-etcd", _boolean, "run an etcd of its own, for development and tests", "BOOL"),
    Flag("data-dir", Path, "where the embedded etcd keeps its data; temporary if not given", "DIR"),
    Flag("token-auth-file", Path, 'CSV of bearer tokens: token,user,uid,"group1,group2"', "FILE"),
    Flag("admin-token", _token, "bearer token of an administrator; made up where one is needed", "TOKEN"),
    Flag("anonymous-auth", _boolean, "let requests without credentials in as system:anonymous", "BOOL"),
    Flag(
        "authentication-config",
        Path,
        "issuers of tokens, and who may be anonymous where",
        "FILE",
    ),
    Flag("authentication-token-webhook-config-file", Path, "kubeconfig of a service that knows tokens", "FILE"),
    Flag("authentication-token-webhook-version", str, "version of the TokenReviews that it is sent", "VERSION"),
    Flag("authentication-token-webhook-cache-ttl", _seconds, "how long its answers are remembered", "DURATION"),
    Flag("oidc-issuer-url", _issuer, "issuer of OpenID Connect tokens, https only", "URL"),
    Flag("oidc-client-id", str, "the audience that its tokens have to be for", "ID"),
    Flag("oidc-ca-file", Path, "CAs of the issuer's certificate, PEM; the host's if not given", "FILE"),
    Flag("oidc-username-claim", str, "claim with the user's name", "CLAIM"),
    Flag("oidc-username-prefix", str, "what goes before names; - is nothing, and without it the issuer's URL does"),
    Flag("oidc-groups-claim", str, "claim with the user's groups", "CLAIM"),
    Flag("oidc-groups-prefix", str, "what goes before groups"),
    Flag("oidc-required-claim", _pairs, "claims that tokens must have: claim=value", "CLAIMS"),
    Flag("oidc-signing-algs", _algorithms, "algorithms that tokens may be signed with", "NAMES"),
    Flag(
        "authorization-mode",
        _names,
        "who decides, in order: RBAC, Node, Webhook, AlwaysAllow, AlwaysDeny (default RBAC)",
        "MODES",
    ),
    Flag("authorization-config", Path, "who decides, and under which conditions", "FILE"),
    Flag(
        "authorization-webhook-config-file",
        Path,
        "kubeconfig of the service that the mode Webhook asks",
        "FILE",
    ),
    Flag("authorization-webhook-version", str, "version of the SubjectAccessReviews that it is sent", "VERSION"),
    Flag("authorization-webhook-cache-authorized-ttl", _seconds, "how long its yes is remembered", "DURATION"),
    Flag("authorization-webhook-cache-unauthorized-ttl", _seconds, "how long its no is remembered", "DURATION"),
    Flag("service-cluster-ip-range", _network, "range that services' cluster IPs are taken from", "CIDR"),
    Flag("service-node-port-range", _ports, "range that services' node ports are taken from", "LOW-HIGH"),
    Flag(
        "client-ca-file",
        Path,
        "CAs of client certificates, PEM: CN is the user, O the groups",
        "FILE",
    ),
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
    Flag("event-ttl", _seconds, "how long events stay after their last write; 0: until they are deleted", "DURATION"),
    Flag("delete-collection-workers", _count, "deletions at the same time when a big collection is deleted", "N"),
    Flag(
        "enable-garbage-collector",
        _boolean,
        "whether deletions leave dependents to a garbage collector, this server's or kube-controller-manager's",
        "BOOL",
    ),
    Flag(
        "controllers",
        _names,
        "controllers to run: '*' those that are on by default, 'name' one more, '-name' not this one; names are those "
        "of kube-controller-manager",
        "NAMES",
    ),
    Flag("cluster-signing-cert-file", Path, "CA that signs approved requests; the server's own if not given", "FILE"),
    Flag("cluster-signing-key-file", Path, "its key, PEM", "FILE"),
    Flag("cluster-signing-duration", _seconds, "longest life of what it signs", "DURATION"),
    Flag("feature-gates", _gates, "features to switch on or off, as Name=true: CBORServingAndStorage", "NAMES"),
    Flag("kubeconfig-out", Path, "write a kubeconfig with an admin's token here", "FILE"),
    Flag("kubeconfig-server", _server, "the server's URL in that kubeconfig", "URL"),
    Flag("workers", _count, "number of server processes on the port", "N"),
    Flag(
        "enable-priority-and-fairness",
        _boolean,
        "queue and refuse requests by FlowSchemas and PriorityLevelConfigurations",
        "BOOL",
    ),
    Flag("max-requests-inflight", _number, "reads under way at once; with priority and fairness, a part of all", "N"),
    Flag("max-mutating-requests-inflight", _number, "writes under way at once, likewise; 0 of either: any", "N"),
    Flag("max-watches-per-user", _number, "watches that one user may have open with a process; 0 is any", "N"),
    Flag("header-timeout", _seconds, "time for the TLS handshake, and for a request's headers", "DURATION"),
    Flag("min-body-rate", int, "bytes a second that a request's body has to come at; 0 is any", "BYTES"),
    Flag("max-connections-per-address", int, "connections that one address may have with a process", "N"),
    Flag("shutdown-timeout", _seconds, "time until a server that does not stop is killed", "DURATION"),
    Flag("log-format", _format, "text or json", "FORMAT"),
    Flag("audit-policy-file", Path, "which requests are recorded, and how much of them", "FILE"),
    Flag("audit-log-path", str, "file that events are written to; - is standard output", "FILE"),
    Flag("audit-log-format", str, "json or legacy", "FORMAT"),
    Flag("audit-log-mode", str, "what requests wait for: batch, blocking, blocking-strict", "MODE"),
    Flag("audit-log-batch-buffer-size", _number, "events that may wait to be written", "N"),
    Flag("audit-log-maxsize", _number, "MiB from which the file is put aside; 0: never", "MIB"),
    Flag("audit-log-maxbackup", _number, "such files that stay; 0: all", "N"),
    Flag("audit-log-maxage", _number, "days that they stay; 0: for ever", "DAYS"),
    Flag("audit-log-compress", _boolean, "pack them", "BOOL"),
    Flag("audit-webhook-config-file", Path, "kubeconfig of a service that events are sent to", "FILE"),
    Flag("audit-webhook-mode", str, "as --audit-log-mode", "MODE"),
    Flag("audit-webhook-initial-backoff", _seconds, "time until a failed call is tried again", "DURATION"),
    Flag("audit-webhook-batch-buffer-size", _number, "events that may wait to be sent", "N"),
    Flag("audit-webhook-batch-max-size", _number, "events that are sent together", "N"),
    Flag("audit-webhook-batch-max-wait", _seconds, "how long they wait for others", "DURATION"),
    Flag("testing-api", _boolean, "serve /testing, which throw-away servers have: snapshots and a clock", "BOOL"),
)


_LISTS = (_names, _name_set, _paths, _pairs, _algorithms, _gates)  # may be given several times


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
            shown = "***" if flag.setting in SECRET else text
            raise InvalidSettings(f"{source}={shown}: {error}") from None
    settings = Settings(**values)
    settings.check()
    return settings
