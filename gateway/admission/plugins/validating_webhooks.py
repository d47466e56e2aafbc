"""ValidatingAdmissionWebhook: asks the webhooks that a write concerns (page "Dynamic Admission Control")."""

from __future__ import annotations

from functools import partial

from gateway.admission.chain import Parts, Plugin, Reviews
from gateway.admission.record import Admission
from gateway.admission.webhooks.files import configure


async def _validate(parts: Parts, admission: Admission) -> None:
    webhooks = parts.webhooks.validating
    candidates = webhooks.of(admission.resource, admission.operation)
    if candidates or not webhooks.informed:
        from gateway.admission.webhooks.validating import validate  # what calls others, which few clusters have

        await validate(parts, admission, candidates)


PLUGIN = Plugin(
    "ValidatingAdmissionWebhook",
    lambda resource, operation: True,
    lambda parts: Reviews(validate=partial(_validate, parts)),
    configure=partial(configure, "ValidatingWebhookConfiguration"),
)
