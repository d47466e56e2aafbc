"""The interface of a controller: it is told of changes, puts keys into queues, and reconciles them one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.controllers.actor import Actor
from gateway.controllers.observing import Follower
from gateway.controllers.queue import Work
from gateway.controllers.telling import Telling
from gateway.settings.config import Settings


class Controller(Follower, Protocol):
    """A controller as those who run it see it."""

    def works(self) -> list[Work]:
        """What it does, each with a queue of its own."""
        ...

    def kinds_changed(self) -> None:
        """Other resources are served than before."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerParts:
    """What controllers are made with. `act` gives the hands of a service account of kube-system; `telling` says how
    far they have been told.
    """

    settings: Settings
    act: Callable[[str], Actor]
    telling: Telling
