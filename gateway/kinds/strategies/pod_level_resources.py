"""Pod-level resources that follow from all containers, including those that admission adds.

Source: KEP-2837 "Pod Level Resource Specifications", feature gate PodLevelResourcesFixDefaulting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from gateway.defaults.pod_level_resources import complete_pod_resources
from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.qos import qos_class


def completing(
    own: dict[str, Strategy],
    prepare_for_create: Callable[..., None],
    prepare_resize: Callable[..., None],
    *,
    own_if_set: bool,
) -> dict[str, Strategy]:
    """The strategies of pods with these rules in addition. `prepare_for_create` is called with the argument `settle`,
    `prepare_resize` with `complete`.

    `own_if_set` is that of `qos_class`.
    """
    update = own[""].prepare_for_update

    def settle(spec: JsonObject) -> str:
        complete_pod_resources(spec)
        return qos_class(spec, own_if_set=own_if_set)

    def prepare_for_update(pod: JsonObject, old: JsonObject, context: WriteContext) -> None:
        if pod.get("spec") is not old.get("spec"):
            _keep_resources(pod.get("spec") or {}, old.get("spec") or {})
        update(pod, old, context)

    whole = replace(
        own[""],
        prepare_for_create=partial(prepare_for_create, settle=settle),
        prepare_for_update=prepare_for_update,
    )
    resize = replace(own["resize"], prepare_for_update=partial(prepare_resize, complete=_complete_resized))
    return {**own, "": whole, "resize": resize}


def _keep_resources(spec: dict[str, Any], before: JsonObject) -> None:
    """Keeps the pod-level resources if the update leaves them out, as a client does that does not know them."""
    if spec.get("resources") is None:
        keep(spec, before, "resources")


def _complete_resized(spec: JsonObject, before: JsonObject) -> None:
    _keep_resources(spec, before)
    complete_pod_resources(spec)
