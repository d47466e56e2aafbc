"""Conversion of custom objects by a webhook ("Webhook conversion")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

import orjson

from gateway.defaults.structural import prune_nulls
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.batches import batches
from gateway.kinds.identity import GroupVersion
from gateway.kinds.model import ConversionFailed, ConvertAll, Version
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.validation.go_print import go_type
from gateway.validation.labels import validate_annotations, validate_labels
from gateway.webhooks.client import WebhookError, Webhooks
from storage.instruments import counter, histogram

LARGEST = 16 << 20  # bytes of an answer
_MOST_ERRORS = 100  # of the labels or annotations of one object that a message names
_SAME = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
_CHANGEABLE = (("labels", "labels", validate_labels), ("annotations", "annotation", validate_annotations))


_SECONDS = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 45, 60)
CALLS = counter("apiserver_conversion_webhook_request_total", "Calls of conversion webhooks.", "failure_type", "result")
DURATION = histogram(
    "apiserver_conversion_webhook_duration_seconds",
    "Time that conversion webhooks take.",
    "failure_type",
    "result",
    buckets=_SECONDS,
)


def webhook_of(definition: JsonObject, webhooks: Webhooks) -> ConversionWebhook | None:
    """The conversion webhook of a CRD; None for the conversion strategy None."""
    conversion = definition["spec"].get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    webhook = conversion.get("webhook") or {}
    known = [version for version in webhook.get("conversionReviewVersions") or () if version in ("v1", "v1beta1")]
    return ConversionWebhook(webhook.get("clientConfig") or {}, known[0] if known else "", webhooks)


class ConversionWebhook:
    """The conversion webhook of a CRD. `review` is the version of ConversionReview, "" if none is supported."""

    def __init__(self, config: JsonObject, review: str, webhooks: Webhooks) -> None:
        self._config, self._review, self._webhooks = config, review, webhooks

    def converting(self, versions: dict[GroupVersion, Version]) -> ConvertAll:
        """A function that converts objects to a version, and prunes the webhook's answers by its schema.

        It raises ConversionFailed.
        """

        async def convert(objects: Sequence[JsonObject], target: GroupVersion) -> list[JsonObject]:
            wanted, made = target.api_version, list[JsonObject]()
            others = (obj for obj in objects if obj["apiVersion"] != wanted)
            for batch in batches(_encoded(others), lambda each: len(each.text)):
                made += await self._convert(batch, wanted, versions[target])
            converted = iter(made)
            return [obj if obj["apiVersion"] == wanted else next(converted) for obj in objects]

        return convert

    async def _convert(self, sent: list[_Encoded], wanted: str, version: Version) -> list[JsonObject]:
        objects = [each.obj for each in sent]
        of = _shown(objects[0]["apiVersion"], objects[0]["kind"])
        if not self._review:
            raise ConversionFailed("custom resource conversion webhook for no supported ConversionReview version")
        uid = str(uuid4())
        texts = [orjson.Fragment(each.text) for each in sent]
        api_version = f"apiextensions.k8s.io/{self._review}"
        request = {"uid": uid, "desiredAPIVersion": wanted, "objects": texts}
        review = dumps({"kind": "ConversionReview", "apiVersion": api_version, "request": request})

        def made(answer: JsonObject) -> list[JsonObject]:
            converted = _answered(answer, uid, api_version, strictly=self._review == "v1")
            _check(objects, converted, wanted, of)
            return [_settled(version, obj) for obj in converted]

        began, result = monotonic(), "failure"
        try:
            found = await self._webhooks.review(self._config, review, made, largest=LARGEST)
            result = "success"
        except WebhookError as error:
            raise ConversionFailed(f"conversion webhook for {of} failed: {error}") from None
        except ConversionFailed:  # the webhook answered a review; its objects are wrong
            result = "success"
            raise
        finally:
            failure = "" if result == "success" else "conversion_webhook_call_failure"
            CALLS.labels(failure, result).inc()
            DURATION.labels(failure, result).observe(monotonic() - began)
        return found


class _Encoded(NamedTuple):
    """An object, and its JSON."""

    obj: JsonObject
    text: bytes


def _encoded(objects: Iterable[JsonObject]) -> Iterator[_Encoded]:
    return (_Encoded(obj, dumps(obj)) for obj in objects)


def _check(objects: Sequence[JsonObject], converted: list[Any], wanted: str, of: str) -> None:
    """Compares the converted objects with those that were sent, whose metadata they get. Raises ConversionFailed."""
    if len(converted) != len(objects):
        counts = f"returned {len(converted)} objects, expected {len(objects)}"
        raise ConversionFailed(f"conversion webhook for {of} {counts}")
    for before, after in zip(objects, converted, strict=True):
        if problem := _wrong(before, after, wanted):
            raise ConversionFailed(f"conversion webhook for {of} {problem}")
        try:
            _restore(before, after)
        except WebhookError as error:
            raise ConversionFailed(f"conversion webhook for {of} returned invalid metadata: {error}") from None


def _shown(api_version: str, kind: str) -> str:
    return f"{api_version or '/'}, Kind={kind}"


def _answered(answer: JsonObject, uid: str, api_version: str, *, strictly: bool) -> list[Any]:
    """The converted objects of a ConversionReview. Raises WebhookError for an invalid or failed answer.

    `strictly`: check its apiVersion, kind and uid, as for v1.
    """
    given = _shown(str(answer.get("apiVersion", "")), str(answer.get("kind", "")))
    expected = _shown(api_version, "ConversionReview")
    if strictly and given != expected:
        raise WebhookError(f"expected webhook response of {expected}, got {given}")
    response = answer.get("response")
    if not isinstance(response, dict):
        raise WebhookError("no response provided")
    if strictly and response.get("uid") != uid:
        raise WebhookError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = response.get("result")
    status = result.get("status", "") if isinstance(result, dict) else ""
    if status != "Success":
        message = result.get("message") if isinstance(result, dict) else ""
        raise WebhookError(str(message or f"response.result.status was '{status}', not 'Success'"))
    objects = response.get("convertedObjects")
    return objects if isinstance(objects, list) else []


def _wrong(before: JsonObject, after: Any, wanted: str) -> str:
    """The error if the converted object is not the same object in the wanted version; "" if it is.

    kube-apiserver's messages for single objects always say index 0.
    """
    if not isinstance(after, dict):
        return f"returned invalid object at index 0: expected an object, got {go_type(after)}"
    if (version := after.get("apiVersion", "")) != wanted:
        return f"returned invalid object at index 0: invalid groupVersion (expected {wanted}, received {version})"
    if (kind := after.get("kind", "")) != before["kind"]:
        return f"returned invalid object at index 0: invalid kind (expected {before['kind']}, received {kind})"
    metadata = after.get("metadata")
    for key, name in _SAME:
        one = before["metadata"].get(key, "")
        other = metadata.get(key, "") if isinstance(metadata, dict) else ""
        if one != other:
            return f"returned invalid object: must have the same {name}: {one} != {other}"
    return ""


def _restore(before: JsonObject, after: JsonObject) -> None:
    """Undoes the webhook's changes of metadata, except labels and annotations. Raises WebhookError if it is invalid."""
    if "metadata" not in after:
        raise WebhookError("missing metadata in converted object")
    given, kept = after["metadata"], deepcopy(before["metadata"])
    if not isinstance(given, dict):
        raise WebhookError(f"invalid metadata of type {_go_type(given)} in converted object")
    for name, place, validate in _CHANGEABLE:
        texts = given.get(name)
        if texts is None:
            kept.pop(name, None)
            continue
        if not isinstance(texts, dict):
            raise WebhookError(f"invalid metadata.{name} of type {_go_type(texts)} in converted object")
        if not isinstance(kept.get(name) or {}, dict):
            raise WebhookError(f"invalid metadata.{name} of type {_go_type(kept[name])} in original object")
        for key, text in texts.items():
            if not isinstance(text, str):
                raise WebhookError(
                    f"metadata.{name}[{key}] must be a string, but is {_go_type(text)} in converted object"
                )
        if texts != (kept.get(name) or {}) and (errors := validate(texts, f"metadata.{place}")):
            shown = errors[:_MOST_ERRORS]
            raise WebhookError(str(shown[0]) if len(shown) == 1 else f"[{', '.join(map(str, shown))}]")
        kept[name] = texts
    after["metadata"] = kept


def _go_type(value: Any) -> str:
    """The Go type of a JSON value, as %T prints it."""
    return "<nil>" if value is None else go_type(value)


def _settled(version: Version, obj: JsonObject) -> JsonObject:
    try:
        made = version.decode(obj, DecodeReport())
    except DecodeError as error:
        raise ConversionFailed(str(error)) from None
    prune_nulls(version.type, made)
    return made
