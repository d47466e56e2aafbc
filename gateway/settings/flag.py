"""The type of the entries of the flag table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.settings.browser_values import origins, transport_security
from gateway.settings.etcd_overrides import etcd_overrides
from gateway.settings.flag_values import algorithms, boolean, endpoints, gates, hosts, name_set, names, pairs, paths
from gateway.settings.named_pairs import SEPARATOR, named_pairs
from gateway.settings.runtime_config import overrides
from gateway.settings.verbosity import patterns

PREFIX = "APISERVER_GATEWAY_"
_LISTS = (
    *(names, name_set, paths, pairs, algorithms, gates, endpoints, hosts, overrides, patterns),
    *(named_pairs, origins, transport_security, etcd_overrides),
)


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag: its name, the parser of its text, and its help text. The setting has the same name.

    `choices` are the values that shell completion offers; others may be allowed too.
    """

    name: str
    parse: Callable[[str], Any]
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether the flag is a boolean: without a value it means true."""
        return self.parse is boolean

    @property
    def is_list(self) -> bool:
        """Whether the flag takes several values: separated by `separator`, or by repeating the flag."""
        return self.parse in _LISTS

    @property
    def separator(self) -> str:
        return SEPARATOR if self.parse is named_pairs else ","

    @property
    def setting(self) -> str:
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return PREFIX + self.setting.upper()
