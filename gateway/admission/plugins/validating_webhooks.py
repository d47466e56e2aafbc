"""ValidatingAdmissionWebhook: asks the webhooks that match a write (page "Dynamic Admission Control")."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateway.admission.asking import asking
from gateway.admission.chain import Plugin, Reviews
from gateway.admission.webhooks.files import configure

if TYPE_CHECKING:
    from gateway.admission.asking import Ask
    from gateway.admission.webhooks.configuration import Hook


def _imported() -> Ask[Hook]:
    from gateway.admission.webhooks.validating import validate  # what calls others, which few clusters have

    return validate


PLUGIN = Plugin(
    "ValidatingAdmissionWebhook",
    lambda resource, operation: True,
    lambda parts: Reviews(validate=asking(parts, parts.webhooks.validating, _imported), idle=parts.webhooks.validating),
    configure=partial(configure, "ValidatingAdmissionWebhook", "ValidatingWebhookConfiguration"),
)
