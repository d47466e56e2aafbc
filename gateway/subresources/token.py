"""serviceaccounts/token: signs a token of a service account (page "Managing Service Accounts")."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from gateway import clock
from gateway.access.tokens import api_audiences, signer_of
from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import core
from gateway.kinds.metadata import time_text
from gateway.kinds.objects import Objects
from gateway.kinds.write_context import WriteContext
from gateway.subresources.answers import created_object
from gateway.subresources.attestations import is_webhook, judged_with_attestations
from gateway.validation.field import FieldError, go_quote, invalid
from gateway.validation.names import is_path_segment_name
from gateway.writing.admission import mutate, validate
from gateway.writing.body import read_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.options import write_options
from gateway.writing.write import begin

GROUP = "authentication.k8s.io"
MIN_SECONDS, MAX_SECONDS = 600, 1 << 32
# the expirationSeconds of the tokens in pods' automatic volumes: they live for longer, and later use is a warning
WARN_AFTER_SECONDS, EXTENDED_SECONDS = 3607, 365 * 24 * 3600
_BOUND_KINDS = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


async def create(endpoint: Endpoint, request: Request) -> Response:
    """Answers the TokenRequest with a token in its status. Raises StatusError 400, 404, 409, 422."""
    options = write_options(request.query, "CreateOptions")
    write = begin(endpoint, request, options)
    context, resource, objects = write.context, endpoint.resource, endpoint.services.admission.objects
    asked = (await read_object(request, endpoint, options.validation)).obj
    metadata.match_namespace(asked["metadata"], context.namespace)
    track_fields(write, asked)
    admitted = await mutate(write, Operation.CREATE, asked, None)
    asked = admitted.obj
    _check_place(asked["metadata"], context)
    account = await objects.get(core("serviceaccounts"), context.namespace, context.name)
    if account is None:
        raise status.not_found("", "serviceaccounts", context.name)
    _check_uid(asked["metadata"], account["metadata"], context.name)
    settings = endpoint.services.settings
    signer, own = signer_of(settings), api_audiences(settings)
    now = int(clock.now())
    _complete(asked, account["metadata"], now, own)
    errors = _errors(asked["spec"])
    if context.enabled("OnlyWebhooksAttested"):
        errors = judged_with_attestations(asked["spec"], errors)
    if errors:
        raise status.invalid(GROUP, "TokenRequest", "", errors)
    await validate(write, admitted, asked)
    spec = asked["spec"]
    _shorten(spec, int(settings.service_account_max_token_expiration), context)
    bound = await _bound(spec.get("boundObjectRef"), context, objects)
    seconds = spec["expirationSeconds"]
    claims = _claims(account["metadata"], bound, spec["audiences"], seconds, now, signer.issuer)
    own_pod = "pod" in bound and seconds == WARN_AFTER_SECONDS and set(spec["audiences"]) <= set(own)
    if own_pod and settings.service_account_extend_token_expiration:
        claims["kubernetes.io"]["warnafter"] = claims["exp"]
        claims["exp"] = now + EXTENDED_SECONDS
    asked["status"] = {"token": signer.sign(claims), "expirationTimestamp": time_text(now + seconds)}
    return created_object(asked, resource)


def _check_place(meta: JsonObject, context: WriteContext) -> None:
    for key, actual, what in (("name", context.name, "name"), ("namespace", context.namespace, "namespace")):
        given = meta.get(key)
        if given and given != actual:
            error = invalid(f"metadata.{key}", given, f"must match the service account {what} if specified")
            raise status.invalid(GROUP, "TokenRequest", context.name, [error])


def _check_uid(meta: JsonObject, account: JsonObject, name: str) -> None:
    given, actual = meta.get("uid"), account.get("uid", "")
    if given and given != actual:
        cause = f"the UID in the token request ({given}) does not match the UID of the service account ({actual})"
        raise status.conflict(GROUP, "TokenRequest", name, cause)


def _complete(asked: JsonObject, account: JsonObject, now: int, audiences: Sequence[str]) -> None:
    meta, spec = asked["metadata"], asked.setdefault("spec", {})
    meta.update(name=account["name"], namespace=account["namespace"], uid=account["uid"])
    meta["creationTimestamp"] = time_text(now)
    if not spec.get("audiences"):
        spec["audiences"] = list(audiences)


def _shorten(spec: JsonObject, most: int, context: WriteContext) -> None:
    """Shortens the lifetime of a token, in place, to what the server allows, and warns of that."""
    seconds = spec["expirationSeconds"]
    if most and seconds > most:
        context.warn([f"requested expiration of {seconds} seconds shortened to {most} seconds"])
        spec["expirationSeconds"] = most


def _errors(spec: JsonObject) -> list[FieldError]:
    seconds = spec.get("expirationSeconds", 3600)
    if seconds < MIN_SECONDS:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")]
    if seconds > MAX_SECONDS:
        return [invalid("spec.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


async def _bound(reference: JsonObject | None, context: WriteContext, objects: Objects) -> dict[str, JsonObject]:
    """The objects that the token's life is bound to: the referenced one and, for a pod, its node too."""
    if reference is None:
        return {}
    kind, version = reference.get("kind", ""), reference.get("apiVersion", "")
    if kind not in _BOUND_KINDS or "/" in version:
        group, _, number = version.rpartition("/")
        off = " (feature gate APIServerWebhookAuthenticationToken is disabled)"
        known = context.enabled("OnlyWebhooksAttested") and is_webhook(reference)
        raise status.bad_request(
            f"cannot bind token to object of type {group}/{number}, Kind={kind}{off if known else ''}"
        )
    name = reference.get("name", "")
    if not name:
        raise status.bad_request("Name parameter required.")
    if wrong := is_path_segment_name(name):
        raise status.bad_request(f"Name parameter invalid: {go_quote(name)}: {';'.join(wrong)}")
    resource = _BOUND_KINDS[kind]
    found = await objects.get(core(resource), "" if kind == "Node" else context.namespace, name)
    if found is None:
        raise status.not_found("", resource, name)
    if kind == "Pod" and found["spec"].get("serviceAccountName") != context.name:
        account = go_quote(context.name)
        text = f"cannot bind token for serviceaccount {account} to pod running with different serviceaccount name."
        raise status.bad_request(text)
    uid = found["metadata"]["uid"]
    if reference.get("uid") and reference["uid"] != uid:
        cause = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise status.conflict("", kind, name, cause)
    bound: dict[str, JsonObject] = {kind.lower(): {"name": name, "uid": uid}}
    if kind == "Pod" and found["spec"].get("nodeName"):
        node = await objects.get(core("nodes"), "", found["spec"]["nodeName"])
        bound["node"] = {"name": found["spec"]["nodeName"]}
        if node is not None:
            bound["node"]["uid"] = node["metadata"]["uid"]
    return bound


def _claims(
    account: JsonObject, bound: dict[str, JsonObject], audiences: list[str], seconds: int, now: int, issuer: str
) -> JsonObject:
    namespace, name = account["namespace"], account["name"]
    private: JsonObject = {
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": account["uid"]},
        **bound,
    }
    return {
        "aud": audiences,
        "exp": now + seconds,
        "iat": now,
        "iss": issuer,
        "jti": str(uuid4()),
        "kubernetes.io": private,
        "nbf": now,
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
