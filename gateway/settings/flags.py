"""The flags of `apiserver-gateway serve`, and how they become settings.

A flag that kube-apiserver has too has the same name here. Each flag is also an environment variable: --etcd-servers is
APISERVER_GATEWAY_ETCD_SERVERS. A flag wins over its variable, and the variable wins over the file of --config.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.flag import PREFIX, Flag
from gateway.settings.flag_table import FLAGS, GROUPS
from gateway.settings.flag_values import decimal
from gateway.settings.named_pairs import SEPARATOR, NamedPair

__all__ = ["FLAGS", "GROUPS", "PREFIX", "Flag", "settings_from", "shown", "shown_default"]

SECRET = ("admin_token", "etcd_password")
_UNITS = (("h", 3600), ("m", 60), ("s", 1))


def shown_default(flag: Flag) -> str:
    """The default of a flag, as text for the flag; "" if there is none."""
    value = getattr(Settings(), flag.setting)
    return f"{value:g}" if flag.parse is decimal else shown(value)


def shown(value: object) -> str:
    """A setting, as text for its flag; "" for an empty setting."""
    match value:
        case None | "" | () | frozenset():
            return ""
        case 0.0 if isinstance(value, float):
            return "0"
        case bool():
            return str(value).lower()
        case float():
            unit, length = next(each for each in _UNITS if value % each[1] == 0 or each[0] == "s")
            return f"{value / length:g}{unit}"
        case ((str(), bool()), *_) if isinstance(value, tuple):
            return ",".join(f"{key}={str(on).lower()}" for key, on in value)
        case (int(low), int(high)):
            return f"{low}-{high}"
        case (NamedPair(), *_) if isinstance(value, tuple):
            return SEPARATOR.join(map(str, value))
        case tuple():
            return ",".join(map(str, value))
    return str(value)


def settings_from(
    given: Mapping[str, str], environment: Mapping[str, str], file: Mapping[str, str] | None = None, named: str = ""
) -> Settings:
    """The settings by flags, environment and configuration file. The first of these that has a value wins.

    `given` and `file` have texts by flag name; messages call the file `named`. Raises InvalidSettings; the message says
    which value is wrong, and where it comes from.
    """
    values: dict[str, Any] = {}
    for flag in FLAGS:
        text, source = given.get(flag.name), f"--{flag.name}"
        if text is None:
            text, source = environment.get(flag.variable) or None, flag.variable
        if text is None and file:
            text, source = file.get(flag.name), f"{named}: {flag.name}"
        if not text:
            continue
        try:
            values[flag.setting] = flag.parse(text)
        except ValueError as error:
            shown = "***" if flag.setting in SECRET else text
            raise InvalidSettings(f"{source}={shown}: {error}") from None
    settings = Settings(**values)
    settings.check()
    if settings.control_planes:
        from gateway.settings.control_planes import check_beside

        check_beside(settings)
    for name in () if settings.control_planes else ("reach", "domain", "metrics"):
        if getattr(settings, f"control_planes_{name}"):
            needs = f"--control-planes-{name}"
            raise InvalidSettings(f"{needs} needs --control-planes: add it, or leave {needs} out")
    return settings
