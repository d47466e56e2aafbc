"""Probes, lifecycle handlers and the actions they take (page "Configure Liveness, Readiness and Startup Probes")."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import NOT_NEGATIVE, is_http_header_name, is_port_name, is_port_number
from gateway.validation.stop_signal import validate_stop_signal

_MANY = "may not specify more than 1 handler type"
_HTTP_PROTOCOLS, _GRPC_MODES = ("HTTP1", "HTTP2"), ("Plaintext", "TLS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def validate_port(port: Any, path: str, errors: list[FieldError]) -> None:
    """The port must be a number from 1 to 65535, or an IANA service name."""
    if isinstance(port, str):
        errors += [invalid(path, port, message) for message in is_port_name(port)]
    elif messages := is_port_number(port):
        errors += [invalid(path, port, message) for message in messages]


def _exec(action: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    if not action.get("command"):
        errors.append(required(f"{path}.command"))


def _http_get(action: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    if not action.get("path"):
        errors.append(required(f"{path}.path"))
    validate_port(action.get("port", 0), f"{path}.port", errors)
    scheme = action.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        errors.append(not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors += [invalid(f"{path}.httpHeaders", name, message) for message in is_http_header_name(name)]
    protocol = action.get("protocol")
    if protocol is not None and protocol not in _HTTP_PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _HTTP_PROTOCOLS))
    elif protocol == "HTTP2" and scheme != "HTTP":
        errors.append(invalid(f"{path}.protocol", protocol, "is only supported with HTTP (H2C)"))
    elif protocol == "HTTP2" and action.get("host"):
        errors.append(invalid(f"{path}.host", action["host"], 'must be empty when `protocol` is "HTTP2"'))


def _port_action(action: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    validate_port(action.get("port", 0), f"{path}.port", errors)


def _grpc(action: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    _port_action(action, path, errors, grace)
    mode = action.get("mode")
    if mode is not None and mode not in _GRPC_MODES:
        errors.append(not_supported(f"{path}.mode", mode, _GRPC_MODES))


def _sleep(action: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    seconds = action.get("seconds", 0)
    if grace is not None and not 0 <= seconds <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        errors.append(invalid(path, seconds, text))


_PROBE_ACTIONS = (("exec", _exec), ("httpGet", _http_get), ("tcpSocket", _port_action), ("grpc", _grpc))
_LIFECYCLE_ACTIONS = (("exec", _exec), ("httpGet", _http_get), ("tcpSocket", _port_action), ("sleep", _sleep))


def _handler(handler: JsonObject, path: str, errors: list[FieldError], grace: int | None, probe: bool) -> None:
    found = False
    for key, validate in _PROBE_ACTIONS if probe else _LIFECYCLE_ACTIONS:
        action = handler.get(key)
        if action is None:
            continue
        if found:
            errors.append(forbidden(f"{path}.{key}", _MANY))
        else:
            found = True
            validate(action, f"{path}.{key}", errors, grace)
    if not found:
        errors.append(required(path, "must specify a handler type"))


def _probe(probe: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    _handler(probe, path, errors, grace, probe=True)
    if not any(type(value) is int and value <= 0 for value in probe.values()):
        return
    for key in _COUNTS:
        if probe.get(key, 0) < 0:
            errors.append(invalid(f"{path}.{key}", probe[key], NOT_NEGATIVE))
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", period, "must be greater than 0"))


def validate_probes(container: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    """Checks the three probes of a container. `grace` is the terminationGracePeriodSeconds of the pod."""
    liveness = container.get("livenessProbe")
    if liveness is not None:
        _succeeding_once(liveness, f"{path}.livenessProbe", errors, grace)
    readiness = container.get("readinessProbe")
    if readiness is not None:
        at = f"{path}.readinessProbe"
        _probe(readiness, at, errors, grace)
        if "terminationGracePeriodSeconds" in readiness:
            period = readiness["terminationGracePeriodSeconds"]
            errors.append(invalid(f"{at}.terminationGracePeriodSeconds", period, "must not be set for readinessProbes"))
    startup = container.get("startupProbe")
    if startup is not None:
        _succeeding_once(startup, f"{path}.startupProbe", errors, grace)


def _succeeding_once(probe: JsonObject, path: str, errors: list[FieldError], grace: int | None) -> None:
    _probe(probe, path, errors, grace)
    if probe.get("successThreshold", 0) != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1"))


def validate_lifecycle(
    lifecycle: JsonObject, path: str, errors: list[FieldError], grace: int | None, system: str | None
) -> None:
    """Checks postStart, preStop and stopSignal. `system` is the operating system of the pod; None if it names none."""
    for key in ("postStart", "preStop"):
        handler = lifecycle.get(key)
        if handler is not None:
            _handler(handler, f"{path}.{key}", errors, grace, probe=False)
    if "stopSignal" in lifecycle:
        errors += validate_stop_signal(lifecycle["stopSignal"], system, f"{path}.stopSignal")
