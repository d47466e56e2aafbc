"""The review kinds: questions about identities and permissions, which are posted and answered, never stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gateway.access.authentication import INVALID_TOKEN, InvalidCredentials, bearer_token
from gateway.access.authorization import Decision
from gateway.access.rules import own_rules
from gateway.access.selection import field_text, label_text
from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.http.request_info import RequestInfo
from gateway.http.user import User, extra_of, user_info
from gateway.jsontypes import JsonObject, dump_line
from gateway.kinds import metadata
from gateway.kinds.attributes import Attributes, Operation
from gateway.subresources.answers import created_object
from gateway.subresources.review_selectors import selector_problems
from gateway.validation.access_review import validate_access_review
from gateway.writing.admission import Admitted, mutate, validate
from gateway.writing.body import read_object
from gateway.writing.field_tracking import track_fields
from gateway.writing.offload import offloaded
from gateway.writing.options import write_options
from gateway.writing.write import Write, begin

AUTHORIZATION = "authorization.k8s.io"
_WEIGHT = 4  # requirements and groups take so many times as long as other bytes of a body


async def self_subject_review(endpoint: Endpoint, request: Request) -> Response:
    """Answers who the user is."""
    write, admitted = await _read(endpoint, request)
    await validate(write, admitted, admitted.obj)
    answer: JsonObject = {
        "kind": endpoint.resource.kind,
        "apiVersion": endpoint.resource.api_version,
        "metadata": {"creationTimestamp": metadata.now_text()},
        "status": {"userInfo": user_info(request.user)},
    }
    return Response(201, dump_line(answer))


async def token_review(endpoint: Endpoint, request: Request) -> Response:
    """Answers which user a token belongs to. Raises StatusError 400 without a token."""
    write, admitted = await _read(endpoint, request)
    review = admitted.obj
    token = (review.get("spec") or {}).get("token", "")
    if not token:
        raise status.bad_request("token is required for TokenReview in authentication")
    await validate(write, admitted, review)
    authenticator = endpoint.services.authenticator
    sent = review.get("status") or {}  # kube-apiserver sets some of its members and leaves the others
    try:
        # read like a header: the token ends at a space
        bearer = bearer_token(b"Bearer " + token.encode("utf-8", "surrogateescape"))
        if bearer is None:
            raise InvalidCredentials(INVALID_TOKEN)
        found = await authenticator.review(bearer, review["spec"].get("audiences") or authenticator.audiences)
    except InvalidCredentials as error:
        kept = {name: sent[name] for name in ("audiences",) if sent.get(name)}
        review["status"] = {"user": sent.get("user") or {}, **kept, "error": str(error)}
    else:
        user, audiences = user_info(found.user), list(found.audiences)
        kept = {"error": sent["error"]} if sent.get("error") else {}
        review["status"] = {"authenticated": True, "user": user, "audiences": audiences, **kept}
    return created_object(review, endpoint.resource)


async def subject_access_review(endpoint: Endpoint, request: Request) -> Response:
    """Answers whether a user may make a request. Raises StatusError 422."""
    return await _access_review(endpoint, request, _subject)


async def self_subject_access_review(endpoint: Endpoint, request: Request) -> Response:
    """Answers whether the user may do something. Raises StatusError 422."""
    return await _access_review(endpoint, request, lambda spec: request.user)


async def self_subject_rules_review(endpoint: Endpoint, request: Request) -> Response:
    """Answers what the user may do in a namespace. Raises StatusError 400 without a namespace."""
    write, admitted = await _read(endpoint, request)
    review = admitted.obj
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise status.bad_request("no namespace on request")
    await validate(write, admitted, review)
    answer: JsonObject = {
        "kind": endpoint.resource.kind,
        "apiVersion": endpoint.resource.api_version,
        "metadata": {},
        "spec": {},
        "status": _rules(endpoint, request.user, namespace),
    }
    return Response(201, dump_line(answer))


def _rules(endpoint: Endpoint, user: User, namespace: str) -> JsonObject:
    services = endpoint.services
    status = own_rules(services.authorizer.modes, services.policy, user, namespace)
    shown: JsonObject = {
        "resourceRules": [_fields(each, _RESOURCE_RULE) for each in status.resources],
        "nonResourceRules": [_fields(each, _PATH_RULE) for each in status.paths],
        "incomplete": status.incomplete,
    }
    return shown | {"evaluationError": status.error} if status.error else shown


_RESOURCE_RULE = ("verbs", "apiGroups", "resources", "resourceNames")
_PATH_RULE = ("verbs", "nonResourceURLs")


def _fields(rule: JsonObject, names: tuple[str, ...]) -> JsonObject:
    return {name: rule[name] for name in names if rule.get(name) or name == "verbs"}


async def _read(endpoint: Endpoint, request: Request) -> tuple[Write, Admitted]:
    options, resource = write_options(request.query, "CreateOptions"), endpoint.resource
    sent = await read_object(request, endpoint, options.validation)
    write, meta = begin(endpoint, request, options, size=sent.size), sent.obj["metadata"]
    metadata.wipe_system_fields(meta)
    metadata.match_namespace(meta, metadata.expected_namespace(resource, write.context.namespace))
    await offloaded(write.size, track_fields, write, sent.obj)
    return write, await mutate(write, Operation.CREATE, sent.obj, None)


async def _access_review(endpoint: Endpoint, request: Request, user: Callable[[JsonObject], User]) -> Response:
    """Answers an access review. `user` returns the subject of the spec. A thread does the work on a long spec."""
    write, admitted = await _read(endpoint, request)
    review = admitted.obj
    spec, effort = review.get("spec") or {}, write.size * _WEIGHT
    resource = endpoint.resource

    def asked() -> tuple[Attributes, list[str]]:
        errors = validate_access_review(review, resource.resource, write.context.namespace)
        if errors:
            enabled = endpoint.services.admission.release.gates.enabled
            raise status.invalid(AUTHORIZATION, "", "", [error.as_told(enabled) for error in errors])
        return Attributes(user(spec), _request(spec)), selector_problems(spec.get("resourceAttributes") or {})

    attributes, problems = await offloaded(effort, asked)
    await validate(write, admitted, review)
    verdict = await endpoint.services.authorizer.authorize(attributes)
    shown: JsonObject = {"allowed": verdict.allowed}
    if verdict.decision is Decision.DENY:
        shown["denied"] = True
    if verdict.reason:
        shown["reason"] = verdict.reason
    problems = [verdict.error, *problems] if verdict.error else problems
    if problems:
        shown["evaluationError"] = "; ".join(problems)
    review["status"] = shown
    return await offloaded(effort, created_object, review, resource)


def _subject(spec: JsonObject) -> User:
    extra = extra_of(spec.get("extra") or {})
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), extra)


def _request(spec: JsonObject) -> RequestInfo:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return RequestInfo(path.get("verb", ""), path.get("path", ""))
    asked = spec.get("resourceAttributes") or {}
    names = ("group", "resource", "subresource", "namespace", "name")
    version = asked.get("version") or "*"
    return RequestInfo(
        asked.get("verb", ""),
        "",
        True,
        version=version,
        **{name: asked.get(name, "") for name in names},
        field_selector=_selector(asked.get("fieldSelector"), field_text),
        label_selector=_selector(asked.get("labelSelector"), label_text),
    )


def _selector(given: JsonObject | None, text: Callable[[Iterable[JsonObject]], str]) -> str:
    given = given or {}
    return text(given["requirements"]) if given.get("requirements") else str(given.get("rawSelector") or "")
