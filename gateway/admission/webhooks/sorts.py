"""The two sorts of webhooks of a server process."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.admission.webhooks.configuration import Hooks
from gateway.kinds.registry import Registry
from gateway.outbound.client import Client
from gateway.outbound.services import ServiceAddresses
from gateway.webhooks.client import Webhooks


@dataclass(frozen=True, slots=True)
class AdmissionWebhooks:
    """Those that are in force, mutating and validating."""

    mutating: Hooks
    validating: Hooks


def no_webhooks() -> AdmissionWebhooks:
    """For a server that is asked by nobody whom to ask."""
    nobody = Hooks(Registry(), Webhooks(Client(), ServiceAddresses(_no_service, _no_slices)))
    nobody.informed = True
    return AdmissionWebhooks(nobody, nobody)


def _no_service(namespace: str, name: str) -> None:
    return None


def _no_slices(namespace: str, name: str) -> tuple[()]:
    return ()
