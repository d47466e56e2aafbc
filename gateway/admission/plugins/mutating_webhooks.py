"""MutatingAdmissionWebhook: has the webhooks that a write concerns change it (page "Dynamic Admission Control")."""

from __future__ import annotations

from functools import partial

from gateway.admission.chain import Parts, Plugin, Reviews
from gateway.admission.record import Admission
from gateway.admission.webhooks.files import configure


async def _admit(parts: Parts, admission: Admission) -> None:
    webhooks = parts.webhooks.mutating
    candidates = webhooks.of(admission.resource, admission.operation)
    if candidates or not webhooks.informed:
        from gateway.admission.webhooks.mutating import mutate  # what calls others, which few clusters have

        await mutate(parts, admission, candidates)


PLUGIN = Plugin(
    "MutatingAdmissionWebhook",
    lambda resource, operation: True,
    lambda parts: Reviews(admit=partial(_admit, parts)),
    configure=partial(configure, "MutatingWebhookConfiguration"),
)
