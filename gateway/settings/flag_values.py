"""Parsers of flag values: each function takes a text and returns the value of a setting.

They raise ValueError; the message says which values are allowed.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath

LOG_FORMATS = ("text", "json")
SIGNING_ALGORITHMS = tuple(f"{kind}{size}" for kind in ("ES", "PS", "RS") for size in (256, 384, 512))

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")


def boolean(text: str) -> bool:
    match text.lower():
        case "true" | "t" | "1" | "yes":
            return True
        case "false" | "f" | "0" | "no":
            return False
    raise ValueError("give true or false")


def decimal(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text, re.ASCII):
        raise ValueError("give a number such as 10 or 0.5")
    return float(text)


def names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def key_prefix(text: str) -> str:
    """A prefix of etcd's keys, read as kube-apiserver reads it: "registry/" is /registry."""
    cleaned = normpath(f"/{text.strip('/')}")
    if cleaned == "/":
        raise ValueError("give a prefix such as /registry")
    return cleaned


def paths(text: str) -> tuple[Path, ...]:
    return tuple(map(Path, names(text)))


def name_set(text: str) -> frozenset[str]:
    return frozenset(names(text))


def seconds(text: str) -> float:
    from gateway.http.deadline import parse_duration

    return parse_duration(text)


def ports(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text, re.ASCII)
    low, high = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 0 < low <= high < 65536:
        raise ValueError("give a range of ports such as 30000-32767")
    return low, high


def port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65536):
        raise ValueError("give a port from 0 to 65535")
    return int(text)


def address(text: str) -> str:
    from ipaddress import ip_address

    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        raise ValueError("give an IP address such as 127.0.0.1, not a host name") from None


def host(text: str) -> str:
    """An address, or a DNS name, wildcards included."""
    from ipaddress import ip_address

    try:
        return str(ip_address(text.strip("[]")))
    except ValueError:
        labels = text.removeprefix("*.").removesuffix(".").split(".")
        if len(text) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
            raise ValueError("give host names or IP addresses") from None
        return text.removesuffix(".").lower()


def domain(text: str) -> str:
    """A DNS name of which others are made with one more label, without a wildcard."""
    found = host(text)
    if found.startswith("*") or ":" in found or found.replace(".", "").isdigit() or len(found) > 253 - 64:
        raise ValueError("give a domain such as planes.example.org")
    return found


def hosts(text: str) -> tuple[str, ...]:
    return tuple(map(host, names(text)))


def server(text: str) -> str:
    """The URL of a server; the scheme is https and may be left out."""
    from urllib.parse import urlsplit

    url = text if "://" in text else f"https://{text}"
    try:
        parts = urlsplit(url)
        host(parts.hostname or "")
        valid = parts.scheme == "https" and parts.port != 0 and not parts.query and not parts.username
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("give a URL such as https://api.example.org:6443")
    return url.rstrip("/")


def network(text: str) -> str:
    from ipaddress import ip_network

    networks = [ip_network(part.strip(), strict=False) for part in text.split(",")]
    if len(networks) > 2 or len({network.version for network in networks}) < len(networks):
        raise ValueError("give one range, or one of IPv4 and one of IPv6")
    if any(network.num_addresses < 8 for network in networks):
        raise ValueError("the range must have at least 8 addresses")
    return ",".join(map(str, networks))


def networks(text: str) -> tuple[str, ...]:
    from ipaddress import ip_network

    return tuple(str(ip_network(each)) for each in names(text))


def endpoints(text: str) -> tuple[str, ...]:
    found = names(text)
    if not all(map(_is_endpoint, found)):
        raise ValueError("give URLs such as http://127.0.0.1:2379")
    return found


def _is_endpoint(text: str) -> bool:
    from urllib.parse import urlsplit

    if len(text.split()) != 1:
        return False
    if text.startswith("unix:"):
        return True
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def issuer(text: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("give a URL such as https://accounts.example.org, without query or fragment")
    return text


def pairs(text: str) -> tuple[str, ...]:
    found = names(text)
    if not all("=" in pair for pair in found):
        raise ValueError("give pairs such as claim=value")
    return found


def algorithms(text: str) -> tuple[str, ...]:
    found = names(text)
    if unknown := [name for name in found if name not in SIGNING_ALGORITHMS]:
        raise ValueError(f"{unknown[0]} is not known; give some of {', '.join(SIGNING_ALGORITHMS)}")
    return found


def count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 4 and int(text)):
        raise ValueError("give a number from 1 to 999")
    return int(text)


def size(text: str) -> int:
    """A number of bytes."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError("give a number of bytes such as 10485760")
    return int(text)


def number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise ValueError("give a number from 0 to 9999999")
    return int(text)


def token(text: str) -> str:
    if not (text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("give a token without spaces and with ASCII characters only")
    return text


def log_format(text: str) -> str:
    if text not in LOG_FORMATS:
        raise ValueError("give text or json")
    return text


def kubernetes_version(text: str) -> str:
    """The minor of Kubernetes, as in `gateway.release.minors`."""
    from gateway.release.minors import minor_of

    return minor_of(text.strip())


def emulated_version(text: str) -> str:
    """The emulated minor, as in `gateway.release.minors`."""
    from gateway.release.minors import emulated_minor

    return emulated_minor(text)


def gates(text: str) -> tuple[tuple[str, bool], ...]:
    """The feature gates that are set, and whether each is on. If a name comes twice, the last one counts."""
    said = dict[str, bool]()
    for part in names(text):
        name, separator, value = part.partition("=")
        if not separator:
            raise ValueError("give Name=true or Name=false")
        said[name.strip().removeprefix("kube:")] = boolean(value)
    return tuple(said.items())
