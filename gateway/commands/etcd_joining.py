"""How a member of etcd starts: as one of a new cluster, or as one that joins the cluster which is there.

A member with data goes on with them. One without data asks the others. If they know it and it has run before, it has
lost its data: it is removed and added again, so that it takes the place of none whose votes it does not remember
(etcd's guide to runtime reconfiguration, "Replace a failed machine").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.commands.etcd_members import Asking, Member, Refusal, Silent, quorum

NEW, EXISTING = "new", "existing"  # of --initial-cluster-state
PAUSE = 1.0  # seconds between two rounds of questions


class NotYet(Exception):
    """The member cannot start now; the message names the condition for its start."""


@dataclass(frozen=True, slots=True)
class Joining:
    """A member that is to start: its name, the peer URLs of all members by name, and where its data are."""

    name: str
    peers: Mapping[str, str]
    data: Path
    asking: Asking

    @property
    def _url(self) -> str:
        return self.peers[self.name]

    def decide(self, patience: float, told: Callable[[str], None]) -> tuple[str, dict[str, str]]:
        """The state to start with, and the peer URLs of the cluster.

        Waits until that is known: for as long as it takes if the others say that there is a cluster, and `patience`
        seconds if none of them answers. `told` gets each reason to wait once. Raises Refusal.
        """
        others = [url for name, url in self.peers.items() if name != self.name]
        if not others or _has_files(self.data):
            return NEW, dict(self.peers)  # of which etcd takes no notice if there are data
        reasons, until = set(), time.monotonic() + patience
        while True:
            known = self._known(others)
            if not known and time.monotonic() > until:
                return NEW, dict(self.peers)
            if known:
                own = [member for member in known if self._is_own(member)]
                if own and not any(each.client_urls or not each.name for each in own):
                    return NEW, dict(self.peers)  # they are at their first start, too
                try:
                    return EXISTING, self._join(known)
                except (NotYet, Silent, Refusal) as error:
                    if str(error) not in reasons:
                        reasons.add(str(error))
                        told(f"{self.name} waits to join its cluster: {error}")
            time.sleep(PAUSE)

    def _known(self, others: list[str]) -> list[Member]:
        for url in others:
            try:
                return self.asking.known(url)
            except (Silent, Refusal):
                continue
        return []

    def _is_own(self, member: Member) -> bool:
        return member.name == self.name or self._url in member.peer_urls

    def _join(self, known: list[Member]) -> dict[str, str]:
        """Joins; the peer URLs of the cluster. Raises NotYet, Silent and Refusal."""
        clients = [url for member in known if not self._is_own(member) for url in member.client_urls[:1]]
        healthy = [url for url in clients if self.asking.is_healthy(url)]
        if len(healthy) < quorum(known):
            wanted = f"{quorum(known)} of {len(known)} members have to be healthy"
            raise NotYet(f"{wanted}, and {len(healthy)} are: start the others")
        through = healthy[0]
        members = self.asking.agreed(through)
        own = [member for member in members if self._is_own(member)]
        for member in own:
            if member.client_urls:
                self.asking.remove(through, member)
        if not any(not member.client_urls for member in own):
            members = self.asking.add(through, self._url)
        return self._cluster(members)

    def _cluster(self, members: list[Member]) -> dict[str, str]:
        """Peer URLs by name: etcd compares the URLs, and wants a name for each."""
        names = {url: name for name, url in self.peers.items()}
        return {names.get(member.peer_urls[0], member.name): member.peer_urls[0] for member in members}


def _has_files(directory: Path) -> bool:
    return any(not path.is_dir() for path in directory.rglob("*"))
