"""The default pull policy of an image reference: Always for the tag `latest`, or no tag and digest; else IfNotPresent.

The grammar is that of the distribution project (docker.io/library normalisation). A reference that does not parse gets
IfNotPresent: validation refuses it later.
"""

from __future__ import annotations

import re

from gateway.memo import memo

_COMPONENT = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_reference = re.compile(
    rf"(?:{_DOMAIN}/)?(?P<path>{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
).fullmatch
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}")
_PATH_LIMIT = 255
_LONGEST = _PATH_LIMIT + len(":@sha512:") + 128 + 128  # of a path with a tag and a digest
_LONGEST_DOMAIN = 4096  # ours: the grammar has no limit, and no name of a host is longer than 253


@memo()
def pull_policy(image: str) -> str:
    """The pull policy of a container with `image` and without a policy: "Always" or "IfNotPresent"."""
    return "Always" if _is_latest(image) else "IfNotPresent"


def _is_latest(image: str) -> bool:
    if _IDENTIFIER.fullmatch(image):
        return False
    domain, remainder = _split_domain(image)
    if len(domain) > _LONGEST_DOMAIN or len(remainder) > _LONGEST:  # the pattern would keep the GIL for long
        return False
    if remainder.partition(":")[0] != remainder.partition(":")[0].lower():
        return False
    found = _reference(f"{domain}/{remainder}")
    if found is None or len(found["path"]) > _PATH_LIMIT:
        return False
    if found["digest"] and not _DIGEST.fullmatch(found["digest"]):
        return False
    return found["tag"] == "latest" or not (found["tag"] or found["digest"])


def _split_domain(image: str) -> tuple[str, str]:
    first, slash, rest = image.partition("/")
    if not slash:
        return "docker.io", f"library/{image}"
    if first == "index.docker.io":
        first = "docker.io"
    elif first != "localhost" and not ("." in first or ":" in first or first != first.lower()):
        first, rest = "docker.io", image
    if first == "docker.io" and "/" not in rest:
        rest = f"library/{rest}"
    return first, rest
