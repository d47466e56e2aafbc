"""The outcome of an exec or attach session, as a Status for the client."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps
from gateway.schema.integers import int64
from gateway.schema.outside import read_object
from gateway.validation.field import go_quote

SUCCESS = dumps({"metadata": {}, "status": "Success"})
_NON_ZERO, _EXIT_CODE = "NonZeroExitCode", "ExitCode"


def internal(message: str) -> bytes:
    """A Status 500 for an error between this server and the container, as JSON."""
    return dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: {message}",
            "reason": "InternalError",
            "details": {"causes": [{"message": message}]},
            "code": 500,
        }
    )


def status_of_refusal(status: int, said: bytes) -> bytes:
    """The Status for a kubelet's answer other than an upgrade, with the message of the kubelet's Status or its text."""
    if 300 <= status < 400:
        return internal("redirect not allowed")
    found = _object(said)
    text = said.decode("utf-8", "replace").strip()
    if found.get("kind") == "Status" and isinstance(found.get("message"), str):
        text = found["message"]
    return internal(f"unable to upgrade connection: {text}")


def outcome_of(said: bytes) -> bytes:
    """The Status for the content of the error stream, where the container runtime writes a Status (remotecommand
    version 4).
    """
    found = _object(said)
    if found.get("status") == "Success":
        return SUCCESS
    if found.get("status") != "Failure":
        shown = go_quote(said.decode("utf-8", "replace"))
        return internal(
            "error stream protocol error: unknown error" if found else f"error stream protocol error: {shown}"
        )
    if found.get("reason") != _NON_ZERO:
        return internal(str(found.get("message", "")))
    code = next((str(each.get("message", "")) for each in _causes(found) if each.get("reason") == _EXIT_CODE), None)
    if code is None:
        return internal(f"error stream protocol error: no {_EXIT_CODE} cause given")
    number = int64(code)
    if number is None or not 0 <= number <= 255:
        return internal(f"error stream protocol error: invalid exit code value {go_quote(code)}")
    return dumps(
        {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: command terminated with exit code {number}",
            "reason": _NON_ZERO,
            "details": {"causes": [{"reason": _EXIT_CODE, "message": str(number)}]},
        }
    )


def _causes(status: JsonObject) -> list[JsonObject]:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    return [each for each in causes if isinstance(each, dict)] if isinstance(causes, list) else []


def in_words_of(said: bytes) -> bytes:
    """The Status for the content of the error stream before remotecommand version 4, which is the text of an error."""
    return internal(f"error executing remote command: {said.decode('utf-8', 'replace')}")


def _object(said: bytes) -> JsonObject:
    return read_object(said) or {}
