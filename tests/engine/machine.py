"""Undoes changes of dockerd to the machine that it does not undo itself: bridges, iptables rules, IP forwarding."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FAMILIES = ("iptables", "ip6tables")
SETTINGS = ("ipv4/ip_forward", "bridge/bridge-nf-call-iptables", "bridge/bridge-nf-call-ip6tables")
_OWN_RULE = re.compile(r"\bDOCKER\b|\bDOCKER-|\bdocker0\b|\bbr-[0-9a-f]{12}\b")
_OWN_LINK = re.compile(r"docker0|br-[0-9a-f]{12}")
_POLICY = re.compile(r"^:FORWARD (\w+) .*$", re.MULTILINE)
_CGROUPS = Path("/sys/fs/cgroup")


def daemons() -> dict[int, str]:
    """The engines that run on this machine: maps process id to command line."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "comm").read_text() == "dockerd\n":
                found[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ").strip()
    return found


@contextmanager
def left_as_found() -> Iterator[None]:
    """Undoes an engine's changes to the network. No other engine may run, because its changes would be undone, too."""
    policies = {family: _policy(_saved(family)) for family in FAMILIES}
    links = {link for link in _links() if link != "docker0"}
    values = {place: place.read_text() for name in SETTINGS if (place := Path("/proc/sys/net", name)).exists()}
    try:
        yield
    finally:
        for family, policy in policies.items():
            _remove_rules(family, policy)
        for link in _links() - links:
            subprocess.run(["ip", "link", "delete", link], capture_output=True)
        for place, value in values.items():
            with suppress(OSError):
                place.write_text(value)
        for pattern in ("docker/*", "docker", "*/docker/*", "*/docker"):  # cgroups of version 2, and of version 1
            for group in _CGROUPS.glob(pattern):
                with suppress(OSError):  # a file, or a cgroup that still has processes
                    group.rmdir()


def without_own(saved: str, policy: str) -> str:
    """Removes an engine's chains and rules from the output of iptables-save."""
    kept = "".join(line for line in saved.splitlines(keepends=True) if not _OWN_RULE.search(line))
    begin, table, rest = kept.partition("*filter\n")
    return begin + table + _POLICY.sub(f":FORWARD {policy} [0:0]", rest, count=1)


def _policy(saved: str) -> str:
    """Resets the policy of the chain FORWARD, which a killed engine does not."""
    found = _POLICY.search(saved.partition("*filter\n")[2])
    return found[1] if found and not _OWN_RULE.search(saved) else "ACCEPT"


def _remove_rules(family: str, policy: str) -> None:
    saved = _saved(family)
    if _OWN_RULE.search(saved):
        subprocess.run([f"{family}-restore"], input=without_own(saved, policy), text=True, capture_output=True)


def _saved(family: str) -> str:
    with suppress(OSError):
        return subprocess.run([f"{family}-save"], text=True, capture_output=True).stdout
    return ""


def _links() -> set[str]:
    return {each.name for each in Path("/sys/class/net").iterdir() if _OWN_LINK.fullmatch(each.name)}
