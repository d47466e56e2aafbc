"""The interface of a controller: it gets the changes of objects, and puts keys into queues to reconcile them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gateway.controllers.actor import Actor
from gateway.controllers.delivery_count import DeliveryCount
from gateway.controllers.observer import ChangeReceiver
from gateway.settings.config import Settings
from gateway.work_queue import Work


class Controller(ChangeReceiver, Protocol):
    """The interface by which the leader runs a controller."""

    def works(self) -> list[Work]:
        """The queues of the controller, each with its reconcile function."""
        ...

    def kinds_changed(self) -> None:
        """Called when the set of served resources has changed."""
        ...

    def authorities_changed(self) -> None:
        """Called when the file of the serving certificate's CA has changed."""
        ...


@dataclass(frozen=True, slots=True)
class ControllerParts:
    """The arguments to make controllers. `act` returns the actor of a service account of kube-system. `telling` counts
    the changes that the controllers have got.
    """

    settings: Settings
    act: Callable[[str], Actor]
    telling: DeliveryCount
