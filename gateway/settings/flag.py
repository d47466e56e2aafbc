"""What a flag of `apiserver-gateway serve` is."""

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
    """A flag: the name, how its text becomes the setting of the same name, and what it is for.

    `choices` are values that may be offered, not always all that there are.
    """

    name: str
    parse: Callable[[str], Any]
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether the name alone means true."""
        return self.parse is boolean

    @property
    def is_list(self) -> bool:
        """Whether it takes several values, with `separator` between them or by giving it several times."""
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
