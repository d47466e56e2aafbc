"""pods/eviction: a deletion that respects PodDisruptionBudgets (page "API-initiated Eviction")."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject, loads
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.kinds.write_context import WriteContext, WriteOptions
from gateway.selectors.label_selector import compile_selector
from gateway.subresources.answers import created_status, set_condition
from gateway.validation import field
from gateway.writing.admission import mutate, validate
from gateway.writing.body import read_object
from gateway.writing.delete import delete_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.make import Made, Present
from gateway.writing.offload import offloaded
from gateway.writing.options import DeleteOptions, validated_delete_options, write_options
from gateway.writing.raw_update import change_stored
from gateway.writing.update import update_object
from gateway.writing.write import Write, begin, begin_as
from storage.errors import StoredObject
from storage.time_slice import TimeSlice

MAX_DISRUPTED_PODS = 2000
_MANAGER = "kube-apiserver"
_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_UNSAFE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_HERE = "can not be set for pod eviction, try after removing the option"
_GONE_ANYWAY = ("Succeeded", "Failed", "Pending")


async def create(endpoint: Endpoint, request: Request) -> Response:
    """Evicts a pod; answers a Status. Raises StatusError 404, 409, 429 when a budget does not allow it, 500."""
    options = write_options(request.query, "CreateOptions")
    write = begin(endpoint, request, options)
    context = write.context
    eviction = (await read_object(request, endpoint, options.validation)).obj
    metadata.match_namespace(eviction["metadata"], context.namespace)
    track_fields(write, eviction)
    admitted = await mutate(write, Operation.CREATE, eviction, None)
    eviction = admitted.obj
    if eviction["metadata"].get("name", "") != context.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    if (eviction.get("deleteOptions") or {}).get(_UNSAFE):
        error = field.invalid(f"deleteOptions.{_UNSAFE}", True, _NOT_HERE)
        raise status.invalid("policy", "Eviction", context.name, [error])
    deletion = _delete_options(eviction, options)
    await validate(write, admitted, eviction)
    pods = endpoint.siblings.of("", "v1", "pods")
    stored = await pods.store.get(pods.key(context.namespace, context.name))
    if stored is None:
        raise status.not_found("", "pods", context.name)
    pod = pods.parse(stored.value)
    guard = "" if _unguarded(pod) else await _pass_budgets(endpoint, pod, context, deletion)
    if (guard or _may_become_healthy(pod)) and deletion.resource_version is None:
        deletion = replace(deletion, resource_version=str(stored.revision))
    await _delete(request, pods, write, deletion)
    return created_status()


def _delete_options(eviction: JsonObject, options: WriteOptions) -> DeleteOptions:
    wanted = eviction.get("deleteOptions") or {}
    given, asked = wanted.get("dryRun") or [], ["All"] * options.dry_run_values
    if given and asked and given != asked:
        shown = f"[{' '.join(asked)}] and [{' '.join(given)}]"
        raise status.bad_request(f"Non-matching dry-run options in request and content: {shown}")
    found = validated_delete_options(wanted)
    return replace(found, dry_run=found.dry_run or options.dry_run)


def _unguarded(pod: JsonObject) -> bool:
    """Whether a pod is disrupted already, or not running yet, so that budgets don't matter."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in _GONE_ANYWAY or bool(pod["metadata"].get("deletionTimestamp"))


def _may_become_healthy(pod: JsonObject) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Pending" and not pod["metadata"].get("deletionTimestamp")


async def _pass_budgets(endpoint: Endpoint, pod: JsonObject, context: WriteContext, deletion: DeleteOptions) -> str:
    """Takes one disruption from the pod's budget, and returns "".

    If the budget allows the eviction of the unhealthy pod anyway, returns the budget's name: then the pod may not
    change before it is deleted. Raises StatusError 429, 403, and 500 for several budgets.
    """
    keeper = endpoint.siblings.of("policy", "v1", "poddisruptionbudgets", "status")
    stored = await keeper.store.list(keeper.collection(context.namespace))
    mine = await _selecting(stored, pod["metadata"].get("labels") or {})
    if len(mine) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, "", text)
    if not mine:
        return ""
    budget = mine[0]
    name = budget["metadata"]["name"]
    if not _is_ready(pod) and _unhealthy_may_go(budget):
        return str(name)

    options = WriteOptions(validation="Strict", dry_run=deletion.dry_run)
    write = begin_as(keeper, ITSELF, "update", context.namespace, name, _MANAGER, options=options)

    def decrement(present: Present) -> Made:
        new: JsonObject = deepcopy(present.obj or {})
        _take_one(new, context, record=not deletion.dry_run)
        track_fields(write, new, present)
        return Made(new)

    await update_object(write, decrement)
    return ""


async def _selecting(stored: Sequence[StoredObject], labels: dict[str, str]) -> list[JsonObject]:
    """The budgets that select a pod of these labels. There may be thousands, so other requests run in between."""
    found, piece = list[JsonObject](), TimeSlice()
    for each in stored:
        budget = await offloaded(len(each.value), _if_it_selects, each.value, labels)
        if budget is not None:
            found.append(budget)
        if piece.over():
            await piece.next()
    return found


def _if_it_selects(value: bytes, labels: dict[str, str]) -> JsonObject | None:
    budget: JsonObject = loads(value)
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return None
    matches = compile_selector(selector)
    return budget if matches is None or matches(labels) else None


def _is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _unhealthy_may_go(budget: JsonObject) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    state = budget.get("status") or {}
    desired: int = state.get("desiredHealthy", 0)
    return desired > 0 and bool(state.get("currentHealthy", 0) >= desired)


def _take_one(budget: JsonObject, context: WriteContext, *, record: bool) -> None:
    """Counts one disruption in a budget, in place. Raises StatusError 429 or 403 if none is allowed."""
    meta, state = budget["metadata"], budget.setdefault("status", {})
    name, allowed = meta["name"], state.get("disruptionsAllowed", 0)
    if state.get("observedGeneration", 0) < meta.get("generation", 0):
        raise too_many(f"The disruption budget {name} is still being processed by the server.", 10)
    if allowed < 0:
        text = "pdb disruptions allowed is negative"
        raise _forbidden(name, text, text, context)
    if len(state.get("disruptedPods") or ()) > MAX_DISRUPTED_PODS:
        text = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise _forbidden(name, text, "too many pending evictions not confirmed by PDB controller", context)
    if allowed == 0:
        raise too_many(_why_none(name, state), 0)
    state["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        set_allowed_condition(state, meta.get("generation", 0), context.now)
    if record:
        state["disruptedPods"] = {**(state.get("disruptedPods") or {}), context.name: context.now}


def _forbidden(name: str, text: str, why: str, context: WriteContext) -> StatusError:
    """The 403 of a budget that cannot be used."""
    error = status.forbidden("policy", "poddisruptionbudget", name, text)
    if error.details is not None and context.enabled("BudgetErrorsHaveCauses"):
        cause = f"The disruption budget {name} does not allow evicting pods currently: {why}"
        error.details["causes"] = [{"reason": "DisruptionBudget", "message": cause}]
    return error


def _why_none(name: str, state: JsonObject) -> str:
    conditions = state.get("conditions") or ()
    found: JsonObject = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), {})
    refused = found.get("status") == "False" and found.get("message")
    subject = f"The disruption budget {name}"
    if refused and found.get("reason") == "SyncFailed":
        return f"{subject} does not allow evicting pods currently because it failed sync: {found['message']}"
    desired, healthy = state.get("desiredHealthy", 0), state.get("currentHealthy", 0)
    if healthy <= desired:
        return f"{subject} needs {desired} healthy pods and has {healthy} currently"
    if refused:
        return f"{subject} does not allow evicting pods currently ({found.get('reason', '')}): {found['message']}"
    return f"{subject} does not allow evicting pods currently"


def set_allowed_condition(state: JsonObject, generation: int, now: str) -> None:
    """Says in the budget's conditions that no disruption is allowed any more."""
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": "InsufficientPods",
        "message": "",
    }
    conditions = [each for each in state.get("conditions") or () if each.get("type") != condition["type"]]
    state["conditions"] = [*conditions, condition]


def too_many(cause: str, seconds: int) -> StatusError:
    """The 429 for an eviction that may succeed later; `seconds` is the Retry-After, 0 for none."""
    details: JsonObject = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    headers: list[tuple[bytes, bytes]] = []
    if seconds:
        details["retryAfterSeconds"] = seconds
        headers.append((b"retry-after", str(seconds).encode()))
    return StatusError(429, "TooManyRequests", _VIOLATION, details, headers)


async def _delete(request: Request, pods: Endpoint, eviction: Write, options: DeleteOptions) -> None:
    """Marks the pod as disrupted and deletes it. Raises StatusError 409 if it does not meet the preconditions."""
    write = begin(pods, request, replace(eviction.options, dry_run=options.dry_run))
    context = write.context

    def mark(pod: JsonObject) -> None:
        meta = pod["metadata"]
        for wanted, key, what, guess in (
            (options.uid, "uid", "UID", "deleted and then recreated"),
            (options.resource_version, "resourceVersion", "ResourceVersion", "modified"),
        ):
            if wanted and wanted != meta.get(key):
                actual = meta.get(key)
                cause = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual})"
                text = f"{cause}. The object might have been {guess}"
                raise status.conflict("", "Pod", meta["name"], text)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_condition(pod.setdefault("status", {}), condition, context.now)

    if not options.dry_run:
        marked = await change_stored(pods, context.namespace, context.name, mark, dry_run=False)
        if options.resource_version is not None:
            options = replace(options, resource_version=str(marked.revision))
    await delete_object(write, options, admitted=True)
