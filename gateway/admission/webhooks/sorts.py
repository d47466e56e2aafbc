"""The mutating and the validating webhooks of a server process."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.admission.webhooks.configuration import Hooks


@dataclass(frozen=True, slots=True)
class AdmissionWebhooks:
    """The webhooks that are in force, mutating and validating."""

    mutating: Hooks
    validating: Hooks
