"""The signal that stops a container (API reference "Lifecycle"). It depends on the operating system of the pod."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.validation.field import FieldError, forbidden, not_supported

_NAMED = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP "
    "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_REAL_TIME = (*(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
_SIGNALS: Mapping[str, tuple[str, ...]] = {
    "linux": tuple(sorted(f"SIG{name}" for name in (*_NAMED.split(), *_REAL_TIME))),
    "windows": ("SIGKILL", "SIGTERM"),
}


def validate_stop_signal(signal: str, system: str | None, path: str) -> list[FieldError]:
    """The errors of a signal. `system` is the operating system that the pod names; None if it names none."""
    if system is None:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    supported = _SIGNALS.get(system, (signal,))
    return [] if signal in supported else [not_supported(path, signal, supported)]
