"""Decides whether a member of etcd starts a new cluster, or joins an existing one.

A member with data starts with these. One without data asks the other members. If they know it and it has run before,
it has lost its data. It is then removed and added again with a new member ID, since it does not remember its old votes.
Source: etcd's guide to runtime reconfiguration, "Replace a failed machine".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.commands.etcd_members import EtcdMember, MemberClient, MemberRefusal, Silent, quorum

NEW, EXISTING = "new", "existing"  # values of --initial-cluster-state
PAUSE = 1.0  # seconds between two rounds of questions


class NotYet(Exception):
    """The member cannot start now; the message names the condition for its start."""


@dataclass(frozen=True, slots=True)
class Joining:
    """A member that is about to start: its name, the peer URLs of all members by name, and its data directory."""

    name: str
    peers: Mapping[str, str]
    data: Path
    asking: MemberClient

    @property
    def _url(self) -> str:
        return self.peers[self.name]

    def decide(self, patience: float, told: Callable[[str], None]) -> tuple[str, dict[str, str]]:
        """The value of --initial-cluster-state, and the peer URLs of the cluster by name.

        If the others say that there is a cluster, waits until this member can join, without a limit. If none of them
        answers for `patience` seconds, the cluster is new. `told` gets each reason to wait once.
        """
        others = [url for name, url in self.peers.items() if name != self.name]
        if not others or _has_files(self.data):
            return NEW, dict(self.peers)  # etcd ignores the state if it has data
        reasons, until = set(), time.monotonic() + patience
        while True:
            known = self._known(others)
            if not known and time.monotonic() > until:
                return NEW, dict(self.peers)
            if known:
                own = [member for member in known if self._is_own(member)]
                if own and not any(each.client_urls or not each.name for each in own):
                    return NEW, dict(self.peers)  # the other members are at their first start, too
                try:
                    return EXISTING, self._join(known)
                except (NotYet, Silent, MemberRefusal) as error:
                    if str(error) not in reasons:
                        reasons.add(str(error))
                        told(f"{self.name} is waiting to join the etcd cluster: {error}")
            time.sleep(PAUSE)

    def _known(self, others: list[str]) -> list[EtcdMember]:
        for url in others:
            try:
                return self.asking.known(url)
            except (Silent, MemberRefusal):
                continue
        return []

    def _is_own(self, member: EtcdMember) -> bool:
        return member.name == self.name or self._url in member.peer_urls

    def _join(self, known: list[EtcdMember]) -> dict[str, str]:
        """Joins the cluster; returns the peer URLs of its members by name. Raises NotYet, Silent and Refusal."""
        clients = [url for member in known if not self._is_own(member) for url in member.client_urls[:1]]
        healthy = [url for url in clients if self.asking.is_healthy(url)]
        if len(healthy) < quorum(known):
            wanted = f"{quorum(known)} of {len(known)} members must be healthy"
            raise NotYet(f"{wanted}, but only {len(healthy)} are: start the other members")
        through = healthy[0]
        members = self.asking.agreed(through)
        own = [member for member in members if self._is_own(member)]
        for member in own:
            if member.client_urls:
                self.asking.remove(through, member)
        if not any(not member.client_urls for member in own):
            members = self.asking.add(through, self._url)
        return self._cluster(members)

    def _cluster(self, members: list[EtcdMember]) -> dict[str, str]:
        """The peer URLs by name. A member that has not started has no name, so the configured one is used."""
        names = {url: name for name, url in self.peers.items()}
        return {names.get(member.peer_urls[0], member.name): member.peer_urls[0] for member in members}


def _has_files(directory: Path) -> bool:
    return any(not path.is_dir() for path in directory.rglob("*"))
