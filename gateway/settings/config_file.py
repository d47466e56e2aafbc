"""The file of --config: YAML with flag names as keys, and the values of the flags:

secure-port: 6443
etcd-servers: [https://10.0.0.1:2379, https://10.0.0.2:2379]
feature-gates: {CBORServingAndStorage: true}
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

from gateway.files import words
from gateway.settings.config import InvalidSettings
from gateway.settings.flags import FLAGS, Flag

LARGEST = 1 << 20  # bytes


def read_config(path: Path) -> dict[str, str]:
    """The texts of the flags in a file, by flag name. Raises InvalidSettings; the message names the wrong key, and what
    is allowed.
    """
    from gateway.settings.configuration_file import InvalidConfiguration, load_yaml

    try:
        content = path.read_bytes()
        if len(content) > LARGEST:
            raise InvalidSettings(f"--config: {path} has more than {LARGEST} bytes")
        loaded = load_yaml(content)
    except OSError as error:
        raise InvalidSettings(f"--config: cannot read {words(error, path)}") from None
    except (InvalidConfiguration, ValueError) as error:
        raise InvalidSettings(f"--config: {path}: {' '.join(str(error).split())}") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise InvalidSettings(f"--config: {path}: give a mapping of flags' names, such as `secure-port: 6443`")
    known = {flag.name: flag for flag in FLAGS}
    found: dict[str, str] = {}
    for key, value in loaded.items():
        if key not in known:
            similar = get_close_matches(str(key), known, 1)
            hint = f"do you mean {similar[0]}?" if similar else "`apiserver-gateway serve --help` lists all"
            raise InvalidSettings(f"--config: {path}: there is no flag {key}; {hint}")
        if (text := _text(known[key], value)) is None:
            raise InvalidSettings(f"--config: {path}: {key}: {_allowed(known[key])}")
        found[key] = text
    return found


def _text(flag: Flag, value: Any) -> str | None:
    """A value as text for the command line; None if its type is wrong. For null the text is "": the default."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower() if flag.is_switch else None
        case int() | float() | str() if not flag.is_switch or isinstance(value, str):
            return str(value)
        case list() if flag.is_list and all(_is_item(each, flag.separator) for each in value):
            return flag.separator.join(map(str, value))
        case dict() if flag.name == "feature-gates" and all(isinstance(each, bool) for each in value.values()):
            return ",".join(f"{name}={str(on).lower()}" for name, on in value.items())
    return None


def _is_item(value: Any, separator: str) -> bool:
    return isinstance(value, int | float | str) and not isinstance(value, bool) and separator not in str(value)


def _allowed(flag: Flag) -> str:
    if flag.is_switch:
        return "give true or false"
    if flag.name == "feature-gates":
        return "give a mapping of names to true or false, or a text such as Name=true"
    if flag.is_list:
        return f"give a text, or a list of them ({flag.metavar})"
    return f"give one text or number ({flag.metavar})"
