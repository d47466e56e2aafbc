"""Calls mutating webhooks, one after the other; each sees the object as the webhooks before it have changed it.

When one has changed the object, in-tree plug-ins run once more, and so do the earlier webhooks with the reinvocation
policy IfNeeded. A webhook that was not called in the first round is not called in the second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

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


class _Rounds(NamedTuple):
    """What is remembered from the first round for the second."""

    candidates: frozenset[str] = frozenset()  # uids of hooks that were called and may be called again
    again: frozenset[str] = frozenset()  # uids of hooks that the second round calls
    left: bytes = b""  # the object as the last round left it, as JSON

    def changed(self) -> _Rounds:
        """The object has changed since the hooks in `candidates` saw it."""
        return self._replace(candidates=frozenset(), again=self.again | self.candidates)


async def mutate(parts: PluginParts, admission: Admission, candidates: Sequence[Candidate[Hook]]) -> Admission:
    """Lets the webhooks that match change the object. Raises StatusError."""
    rounds: _Rounds = admission.kept.get(NAME, _Rounds())
    if admission.reinvoked and rounds.left != _content(admission.obj):
        rounds = rounds.changed()
    selection = Selection(parts, admission, parts.webhooks.mutating, "admit")
    reviews, reinvoke = review.AdmissionReviews(admission), False
    for each in candidates:
        target = await selection.target(each)
        hook = each.hook
        if target is None or (admission.reinvoked and hook.uid not in rounds.again):
            continue
        patch = await _one(parts, admission, hook, target, reviews)
        if patch is not None:
            admission = patch.after
            selection, reviews = selection.after(admission), review.AdmissionReviews(admission)
            if patch.changed:
                rounds, reinvoke = rounds.changed(), True
        if hook.reinvoked:
            rounds = rounds._replace(candidates=rounds.candidates | {hook.uid})
    return admission.keeping(NAME, rounds._replace(left=_content(admission.obj)), reinvoke=reinvoke)


class _Patched(NamedTuple):
    """The record after a patch, and whether the object is another one."""

    after: Admission
    changed: bool


def _content(obj: JsonObject | None) -> bytes:
    return b"" if obj is None else dumps(obj)


async def _one(
    parts: PluginParts, admission: Admission, hook: Hook, target: MatchTarget, reviews: review.AdmissionReviews
) -> _Patched | None:
    """Calls one webhook. Returns what its patch has made; None if there is none. Raises StatusError."""
    asking, place = WebhookCall(hook, admission, WebhookHalf.MUTATING), (int(admission.reinvoked), hook.index)
    patch: _Patched | None = None
    try:
        found = await ask(parts.webhooks.mutating.client, hook, admission, target, reviews, WebhookHalf.MUTATING)
        is_long = len(found.patch) > SLOWLY
        changes = await asyncio.to_thread(operations, hook, found) if is_long else operations(hook, found)
        if changes:
            text = _about(hook, patch=changes, patchType="JSONPatch")  # encoded before the object shares its values
            patch = await _patch(admission, hook, target, changes, found)
            admission.annotate(_PATCHED.format(*place), text, detail=True)
    except (CallFailed, Denied, StatusError) as error:
        admission.annotate(_MUTATED.format(*place), _about(hook, mutated=False))
        refusal = asking.failed(error, _FAILED_OPEN.format(*place))
        if refusal is not None:
            raise refusal from None
    else:
        asking.allowed()
        admission.annotate(_MUTATED.format(*place), _about(hook, mutated=patch is not None and patch.changed))
    return patch


async def _patch(
    admission: Admission, hook: Hook, target: MatchTarget, changes: list[JsonObject], found: WebhookVerdict
) -> _Patched:
    """Applies a JSON patch. Raises StatusError 500, CallFailed for another type of patch."""
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
    return _Patched(await admission.replacing(after), not identical(before, after))


def _about(hook: Hook, **members: Any) -> str:
    return dumps({"configuration": hook.configuration, "webhook": hook.name, **members}).decode()
