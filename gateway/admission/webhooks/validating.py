"""Calls validating webhooks, all at the same time: a write is refused if one of them refuses it.

It waits for all of them; the denial that arrives first is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.admission.chain import PluginParts
from gateway.admission.matcher import Candidate, MatchTarget
from gateway.admission.record import Admission
from gateway.admission.webhooks import review
from gateway.admission.webhooks.configuration import Hook
from gateway.admission.webhooks.metrics import WebhookHalf
from gateway.admission.webhooks.selection import Selection
from gateway.admission.webhooks.webhook_call import CallFailed, Denied, WebhookCall, ask
from gateway.http.status import StatusError
from gateway.task_group import TaskGroup

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/round_0_index_{}"


async def validate(parts: PluginParts, admission: Admission, candidates: Sequence[Candidate[Hook]]) -> None:
    """Calls the webhooks that match the write. Raises StatusError for the first refusal."""
    selection = Selection(parts, admission, parts.webhooks.validating, "validate")
    concerned = [(each.hook, target) for each in candidates if (target := await selection.target(each)) is not None]
    if not concerned:
        return
    reviews, refusals = review.AdmissionReviews(admission), list[StatusError]()
    if len(concerned) == 1:
        await _one(parts, admission, *concerned[0], reviews, refusals)
    else:
        async with TaskGroup() as group:
            for hook, target in concerned:
                group.create_task(_one(parts, admission, hook, target, reviews, refusals))
    if refusals:
        raise refusals[0]


async def _one(
    parts: PluginParts,
    admission: Admission,
    hook: Hook,
    target: MatchTarget,
    reviews: review.AdmissionReviews,
    refusals: list[StatusError],
) -> None:
    asking = WebhookCall(hook, admission, WebhookHalf.VALIDATING)
    try:
        await ask(parts.webhooks.validating.client, hook, admission, target, reviews, WebhookHalf.VALIDATING)
    except (CallFailed, Denied, StatusError) as error:
        refusal = asking.failed(error, _FAILED_OPEN.format(hook.index))
        if refusal is not None:
            refusals.append(refusal)
    else:
        asking.allowed()
