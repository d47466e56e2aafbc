"""How much is logged: by --v in all modules, by --vmodule in single modules, as with klog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.settings.config import Settings

EVERYTHING = 4  # from this verbosity on, all records are logged
Pattern = tuple[str, int]
"""A pattern of modules and their verbosity. `feed` matches file names; `gateway/requests/*` has a slash, so it matches
paths.
"""

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("gateway", "storage")


def patterns(text: str) -> tuple[Pattern, ...]:
    """Parses the text of --vmodule. Raises ValueError."""
    found = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        pattern, _, verbosity = part.rpartition("=")
        if not pattern or not (verbosity.isascii() and verbosity.isdigit() and len(verbosity) < 8):
            raise ValueError("give modules with a verbosity each, such as feed=4,gateway/requests/*=4")
        found.append((pattern.removesuffix(".py"), int(verbosity)))
    return tuple(found)


def covers(vmodule: Sequence[Pattern], module: str) -> int | None:
    """The verbosity of a module ("gateway.requests.handler") by the first pattern that matches, None if none does."""
    path = module.replace(".", "/")
    for pattern, verbosity in vmodule:
        seen = path if "/" in pattern else path.rpartition("/")[2]
        if fnmatchcase(seen, pattern):
            return verbosity
    return None


def verbosity_of(settings: Settings, module: str) -> int:
    """The verbosity of a module, by --vmodule or --v."""
    of_module = covers(settings.vmodule, module)
    return settings.v if of_module is None else of_module


def modules() -> Iterator[str]:
    """The names of all modules of the server."""
    for package in _PACKAGES:
        for path in (_ROOT / package).rglob("*.py"):
            yield ".".join(path.relative_to(_ROOT).with_suffix("").parts).removesuffix(".__init__")
