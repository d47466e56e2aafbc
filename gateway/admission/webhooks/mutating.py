"""Calls mutating webhooks, one after the other; each sees the object as the webhooks before it have changed it.

When one has changed the object, in-tree plug-ins run once more, and so do the earlier webhooks with the reinvocation
policy IfNeeded. A webhook that was not called in the first round is not called in the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.admission.chain import PluginParts
from gateway.admission.matcher import Candidate, MatchTarget
from gateway.admission.record import Admission
from gateway.admission.webhooks import review
from gateway.admission.webhooks.answer import WebhookVerdict
from gateway.admission.webhooks.configuration import Hook
from gateway.admission.webhooks.metrics import WebhookHalf
from gateway.admission.webhooks.patch import operations, patched
from gateway.admission.webhooks.selection import Selection
from gateway.admission.webhooks.webhook_call import CallFailed, Denied, WebhookCall, ask
from gateway.http.status import StatusError, internal_error
from gateway.jsontypes import JsonObject, dumps, identical
from gateway.schema.body import SLOWLY
from gateway.validation.field import go_quote

NAME = "MutatingAdmissionWebhook"
_MUTATED = "mutation.webhook.admission.k8s.io/round_{}_index_{}"
_PATCHED = "patch.webhook.admission.k8s.io/round_{}_index_{}"
_FAILED_OPEN = "failed-open.mutation.webhook.admission.k8s.io/round_{}_index_{}"


@dataclass(slots=True)
class _Rounds:
    """What is remembered from the first round for the second."""

    candidates: set[str] = field(default_factory=set)  # uids of hooks that were called and may be called again
    again: set[str] = field(default_factory=set)  # uids of hooks that the second round calls
    left: bytes = b""  # the object as the last round left it, as JSON

    def changed(self) -> None:
        """Notes that the object has changed since the hooks in `candidates` saw it."""
        self.again |= self.candidates
        self.candidates.clear()


async def mutate(parts: PluginParts, admission: Admission, candidates: Sequence[Candidate[Hook]]) -> None:
    """Lets the webhooks that match change the object. Raises StatusError."""
    rounds: _Rounds = admission.reinvocations.setdefault(NAME, _Rounds())
    if admission.reinvoked and rounds.left != _content(admission.obj):
        rounds.changed()
    selection = Selection(parts, admission, parts.webhooks.mutating, "admit")
    reviews = review.AdmissionReviews(admission)
    for each in candidates:
        target = await selection.target(each)
        hook = each.hook
        if target is None or (admission.reinvoked and hook.uid not in rounds.again):
            continue
        if await _one(parts, admission, hook, target, reviews):
            rounds.changed()
            admission.reinvoke = True
            selection.forget()
        if hook.reinvoked:
            rounds.candidates.add(hook.uid)
    rounds.left = _content(admission.obj)


def _content(obj: JsonObject | None) -> bytes:
    return b"" if obj is None else dumps(obj)


async def _one(
    parts: PluginParts, admission: Admission, hook: Hook, target: MatchTarget, reviews: review.AdmissionReviews
) -> bool:
    """Calls one webhook. Returns whether that has changed the object. Raises StatusError."""
    asking, place = WebhookCall(hook, admission, WebhookHalf.MUTATING), (int(admission.reinvoked), hook.index)
    changed = False
    try:
        found = await ask(parts.webhooks.mutating.client, hook, admission, target, reviews, WebhookHalf.MUTATING)
        is_long = len(found.patch) > SLOWLY
        changes = await asyncio.to_thread(operations, hook, found) if is_long else operations(hook, found)
        if changes:
            text = _about(hook, patch=changes, patchType="JSONPatch")  # encoded before the object shares its values
            changed = await _patch(admission, hook, target, changes, found)
            reviews.forget()
            admission.annotate(_PATCHED.format(*place), text, detail=True)
    except (CallFailed, Denied, StatusError) as error:
        admission.annotate(_MUTATED.format(*place), _about(hook, mutated=False))
        refusal = asking.failed(error, _FAILED_OPEN.format(*place))
        if refusal is not None:
            raise refusal from None
    else:
        asking.allowed()
        admission.annotate(_MUTATED.format(*place), _about(hook, mutated=changed))
    return changed


async def _patch(
    admission: Admission, hook: Hook, target: MatchTarget, changes: list[JsonObject], found: WebhookVerdict
) -> bool:
    """Applies a JSON patch. Returns whether the object has changed. Raises StatusError 500, CallFailed for another type
    of patch.
    """
    before = (await admission.as_version(target.kind.group_version)).obj
    if before is None:
        what = "attempted to modify the object, which is not supported for this operation"
        raise internal_error(f"admission webhook {go_quote(hook.name)} {what}")
    if found.patch_type != "JSONPatch":
        raise CallFailed(hook, f"unsupported patch type {go_quote(found.patch_type)}")
    document = review.encoded(admission.resource, before, target.kind)
    after = await patched(
        document,
        changes,
        admission.resource,
        target.kind,
        len(found.patch),
        new=admission.old is None,
        converted=admission.is_converted(target.kind.group_version),
    )
    changed = not identical(before, after)
    await admission.replace(after)
    return changed


def _about(hook: Hook, **members: Any) -> str:
    return dumps({"configuration": hook.configuration, "webhook": hook.name, **members}).decode()
