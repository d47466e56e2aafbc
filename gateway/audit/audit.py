"""Audit of a server process: the policy, the sinks, and the record of each request until it ends.

As in apiserver's filters (`pkg/endpoints/filters/audit.go`, `authn_audit.go`), audit begins after authentication and
before impersonation. A request's last event goes to the sinks before the end of its answer is sent.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from gateway.access.authorization import AuthorizationUndecided, Decision, Verdict
from gateway.audit import event as events
from gateway.audit.batches import Batching
from gateway.audit.cluster import ANNOTATION, CLUSTER
from gateway.audit.counts import Counts
from gateway.audit.event import TRUNCATED, AuditEvent
from gateway.audit.latency import latencies
from gateway.audit.objects import JSON, LARGEST_OBJECT, EncodedObject, LeftOut, in_json, written, written_object
from gateway.audit.policy import AuditLevel, AuditPolicy, AuditRule, AuditStage
from gateway.audit.sink import AuditMode, EventSink, LogSink
from gateway.audit.truncation import EventSizes
from gateway.flowcontrol.limiter import is_long_running
from gateway.http.exchange import Request, Response
from gateway.http.failures import as_status
from gateway.http.send import Send
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.time_limits import in_thread
from storage.errors import StorageError
from storage.instruments.trace import Times

if TYPE_CHECKING:
    from gateway.settings.config import Settings

_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_STATUS = b'{"kind":"Status",'
_STATUS_FIELDS = ("status", "message", "reason", "details", "code")
_NAMED = ("namespace", "name", "uid", "resourceVersion")


class AuditedRequest(Protocol):
    """The context of a request, which has its audit record."""

    record: Record | None


class Audit:
    """Makes a record for each request that the policy records, and passes events to the sinks."""

    def __init__(self, policy: AuditPolicy, sinks: Sequence[EventSink], counts: Counts) -> None:
        self._policy, self._sinks, self.counts = policy, tuple(sinks), counts

    def record(
        self, request: Request, user: User | None, scope: MutableMapping[str, Any], times: Times
    ) -> Record | None:
        """Makes the record of a request. `user` is None if the client is not authenticated.

        Returns None if the policy does not record the request.
        """
        rule = self._policy.rule_for(user, request.info)
        self.counts.levels[(AuditLevel.NONE if rule is None else rule.level).text] += 1
        return None if rule is None else Record(self, rule, request, user, scope, times)

    def listening(self, request: Request, held: AuditedRequest, send: Send) -> Send:
        """Sets the request's time of arrival, and wraps `send`, so that its record sees the answer."""
        request.received = events.now()

        async def wrapped(message: MutableMapping[str, Any]) -> None:
            record = held.record
            if record is None:
                await send(message)
                return
            await record.passes(message)
            began = time.monotonic()
            await send(message)
            record.times.took("response-write", began, time.monotonic())

        return wrapped

    async def keep(self, event: AuditEvent) -> bool:
        """Passes an event to all sinks; returns False if the request must fail because the event was not written."""
        self.counts.events += 1
        kept = True
        for sink in self._sinks:
            kept = await sink.take(event) and kept
        return kept

    async def close(self) -> None:
        """Writes the waiting events and closes the sinks."""
        for sink in self._sinks:
            await sink.close()


class Record:
    """Collects the data of one request and makes its events."""

    def __init__(
        self,
        audit: Audit,
        rule: AuditRule,
        request: Request,
        user: User | None,
        scope: MutableMapping[str, Any],
        times: Times,
    ) -> None:
        self._audit, self._rule, self._request, self._user = audit, rule, request, user
        self._client = (scope.get("client") or ("",))[0]
        self._uri = _uri(scope)
        self._impersonated: User | None = None
        self._constraint = ""
        self._annotations: dict[str, str] = {ANNOTATION: scope[CLUSTER]} if CLUSTER in scope else {}
        self._named: dict[str, str] = {}
        self._sent: bytes | None = None
        self._patch: Callable[[], Any] | None = None
        self._answer: EncodedObject | None = None
        self._status: JsonObject | None = None
        self._panic = self._over = self._begun = False
        self.times = times
        self._long = request.info.verb == "watch" or is_long_running(request.info)

    # calls during the request, in their order

    async def begin(self) -> None:
        """Makes the event RequestReceived. Raises Undecided if the request must fail because the event was not written.

        A request without a user has only one event, when its 401 is sent.
        """
        if self._user is not None and not await self._emit(AuditStage.REQUEST_RECEIVED):
            self._audit.counts.rejected += 1
            raise AuthorizationUndecided("failed to store audit event")

    def impersonated(self, user: User, constraint: str) -> None:
        """Records the impersonated user.

        `constraint` is the verb of the mode that allowed it, "" for an impersonation by the verb `impersonate`.
        """
        self._impersonated, self._constraint = user, constraint

    def decided(self, verdict: Verdict) -> None:
        """Records the decision of authorization, as annotations."""
        if verdict.decision is Decision.ALLOW:
            self._annotations |= {_DECISION: "allow", _REASON: verdict.reason}
        elif verdict.error:
            self._annotations[_REASON] = "internal error"
        else:
            self._annotations |= {_DECISION: "forbid", _REASON: verdict.reason}

    def annotate(self, key: str, value: str, detail: bool = False) -> None:
        """Adds an annotation, unless the key has one. With `detail`, only if the level records request objects."""
        if not detail or self._rule.level >= AuditLevel.REQUEST:
            self._annotations.setdefault(key, value)

    def requested(self, obj: JsonObject) -> None:
        """Records the decoded object of a request: that of a create or update, or DeleteOptions."""
        meta = obj.get("metadata") or {}
        self._named = {key: value for key in _NAMED if isinstance(value := meta.get(key), str)}
        if self._rule.level >= AuditLevel.REQUEST:
            self._keep(partial(written_object, obj, self._rule.without_managed_fields))

    def patching(self, read: Callable[[], Any]) -> None:
        """Keeps a function that parses the request's patch, for the case that `patched` is never called."""
        if self._rule.level >= AuditLevel.REQUEST:
            self._patch = read

    def patched(self, value: Any) -> None:
        """Records the parsed patch, before it is changed."""
        if self._patch is not None:
            self._patch = None
            self._keep(partial(written, value))

    def _keep(self, write: Callable[[], bytes]) -> None:
        try:
            self._sent = write()
        except LeftOut:
            self.annotate(TRUNCATED, "true")

    def answered(self, response: Response) -> None:
        """Records the answer. At level RequestResponse a streamed body is wrapped to collect its chunks.

        The bodies of long-running requests (watch, logs, exec, proxy) are not recorded.
        """
        body, media = response.body, response.content_type.decode("latin-1")
        whole = self._rule.level is AuditLevel.REQUEST_RESPONSE and not self._long
        if isinstance(body, AsyncIterator):
            if whole:
                response.body = self._listen(body, media, own=response.finite)
        elif isinstance(body, bytes):
            if body.startswith(_STATUS):
                with suppress(ValueError):  # an answer of another server may begin like this and be invalid
                    self._set_status(loads(body))
            if whole and body:
                self._answer = self._bounded(body, media, own=True)
        elif whole:
            self._answer = self._bounded(_joined(body), media, own=True)

    def failed(self, error: Exception) -> None:
        """Records the error of a request. The text of an unexpected exception is left out: it may contain secrets."""
        status = as_status(error)
        found = status.status()
        self._panic = status.code >= 500 and not isinstance(error, StatusError | StorageError)
        if self._panic:
            found["message"] = f"APIServer panic'd: {type(error).__name__}"
            found.pop("details", None)
        self._set_status(found)
        if self._rule.level is AuditLevel.REQUEST_RESPONSE and not self._panic:
            self._answer = self._bounded(dumps(found), JSON, own=True)

    def cut_off(self) -> None:
        """Records that the connection ended before the request's body was complete: a failure, as in kube-apiserver."""
        if self._status is None:
            self.failed(StatusError(500, "", "unexpected EOF"))

    async def passes(self, message: MutableMapping[str, Any]) -> None:
        """Called before each message of the answer is sent: its head, a part of its body, or its end."""
        if message["type"] == "http.response.start":
            self._begun = True
            self._status = {**(self._status or {"metadata": {}}), "code": message["status"]}
            if self._long or self._user is None:
                await self._emit(AuditStage.RESPONSE_STARTED)
        elif not message.get("more_body", False):
            await self.end()

    async def end(self) -> None:
        """Makes the last event, whether the request was answered or not. A second call does nothing."""
        if self._over:
            return
        self._over = True
        if self._user is None:
            return
        if self._status is None:
            self._status = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}
        if self._long and not self._begun:
            await self._emit(AuditStage.RESPONSE_STARTED)
        await self._take_objects()
        if self._panic:
            await self._emit(AuditStage.PANIC)
            return
        if not self._long:
            self._annotations |= latencies(self.times)
        await self._emit(AuditStage.RESPONSE_COMPLETE)

    # making events

    async def _emit(self, stage: AuditStage) -> bool:
        rule = self._rule
        if stage in rule.omitted:
            return True
        request, info = self._request, self._request.info
        meta = events.metadata_of(
            rule.level,
            request.audit_id.decode("utf-8", "replace"),
            stage,
            requestURI=self._uri,
            verb=info.verb,
            user=events.user_info(self._user),
            impersonatedUser=events.user_info(self._impersonated),
            authenticationMetadata={"impersonationConstraint": self._constraint} if self._constraint else None,
            sourceIPs=events.source_ips(request.headers, self._client),
            userAgent=events.user_agent(request.headers),
            objectRef=events.object_reference(info, self._named) if info.is_resource else None,
            responseStatus=self._status,
        )
        annotations = dict(self._annotations)
        made = AuditEvent(meta, self._sent, self._answer, rule.without_managed_fields, annotations, self._texts())
        made.received = request.received
        made.staged = request.received if stage is AuditStage.REQUEST_RECEIVED else events.now()
        return await self._audit.keep(made)

    def _texts(self) -> int:
        """About how many characters of the event come from clients and webhooks."""
        users = (0 if user is None else user.size for user in (self._user, self._impersonated))
        said = sum(len(key) + len(value) for key, value in self._annotations.items())
        named = sum(map(len, self._named.values())) + len((self._status or {}).get("message") or "")
        return len(self._uri) + len(self._request.audit_id) + sum(users) + said + named

    async def _take_objects(self) -> None:
        """Parses the patch if the request failed before it did (for example with 404). Converts the answer to JSON."""
        if (read := self._patch) is not None:
            with suppress(Exception):  # the patch is invalid, so the event has no request object
                self.patched(await in_thread(read))
        if (answer := self._answer) is not None and answer.media != JSON:
            self._answer = await in_thread(partial(in_json, answer))

    def _bounded(self, data: bytes, media: str, *, own: bool) -> EncodedObject | None:
        """The body of an answer; None if it is too large. A short one of another server counts as own."""
        if len(data) > LARGEST_OBJECT:
            self.annotate(TRUNCATED, "true")
            return None
        return EncodedObject(data, media.partition(";")[0].strip(), own)

    def _set_status(self, found: JsonObject) -> None:
        self._status = {"metadata": {}} | {key: found[key] for key in _STATUS_FIELDS if key in found}

    async def _listen(self, chunks: AsyncIterator[bytes], media: str, *, own: bool) -> AsyncIterator[bytes]:
        heard, size = list[bytes](), 0
        try:
            async for chunk in chunks:
                size += len(chunk)
                if size <= LARGEST_OBJECT:
                    heard.append(chunk)
                else:
                    heard.clear()
                yield chunk
        finally:
            close = getattr(chunks, "aclose", None)
            if close is not None:
                await close()
            if size > LARGEST_OBJECT:
                self.annotate(TRUNCATED, "true")
            else:
                self._answer = self._bounded(b"".join(heard), media, own=own)


def _joined(chunks: Sequence[bytes]) -> bytes:
    """The chunks joined. If they are together over LARGEST_OBJECT, zeros of more than that size: they are not kept."""
    if sum(map(len, chunks)) <= LARGEST_OBJECT:
        return b"".join(chunks)
    return bytes(LARGEST_OBJECT + 1)


def _uri(scope: MutableMapping[str, Any]) -> str:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def audit_of(settings: Settings) -> Audit:
    """Makes the audit that the settings configure, with open sinks. Must be called on the event loop.

    Raises OSError and InvalidConfiguration.
    """
    from gateway.audit.policy import read_policy
    from gateway.audit.rotation import Keeping

    assert settings.audit_policy_file is not None
    policy, sinks, counts = read_policy(settings.audit_policy_file), list[EventSink](), Counts()
    if settings.audit_log_path:
        keeping = Keeping(
            settings.audit_log_maxsize,
            settings.audit_log_maxbackup,
            settings.audit_log_maxage,
            settings.audit_log_compress,
        )
        legacy, mode = settings.audit_log_format == "legacy", AuditMode(settings.audit_log_mode)
        batching, bounds = _batching(settings, "log"), _bounds(settings, "log")
        sinks.append(LogSink(settings.audit_log_path, keeping, mode, legacy, batching, bounds, counts))
    if settings.audit_webhook_config_file:
        from gateway.access.remote import read_place
        from gateway.audit.webhook import WebhookSink

        place, mode = read_place(settings.audit_webhook_config_file), AuditMode(settings.audit_webhook_mode)
        batching = replace(_batching(settings, "webhook"), pause=settings.audit_webhook_initial_backoff)
        sinks.append(WebhookSink(place, mode, batching, _bounds(settings, "webhook"), counts))
    return Audit(policy, sinks, counts)


def _batching(settings: Settings, sink: str) -> Batching:
    def said(flag: str) -> Any:
        return getattr(settings, f"audit_{sink}_batch_{flag}")

    throttled = (said("throttle_qps"), said("throttle_burst")) if said("throttle_enable") else (0.0, 0)
    return Batching(said("buffer_size"), said("max_size"), said("max_wait"), 0.0, *throttled)


def _bounds(settings: Settings, sink: str) -> EventSizes | None:
    def said(flag: str) -> Any:
        return getattr(settings, f"audit_{sink}_truncate_{flag}")

    return EventSizes(said("max_event_size"), said("max_batch_size")) if said("enabled") else None
