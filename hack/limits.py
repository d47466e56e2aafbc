"""Writes docs/reference/limits.md from hack/limits.txt and the code's constants: `hack/limits.py [--check]`.

limits.txt is the page with placeholders for its numbers: `{http.exchange.MAX_BODY b}` is the constant MAX_BODY of
gateway/http/exchange.py, in bytes; `s` is for seconds, and no letter for a count. A name that begins with `storage.` is
of that package. `{--request-timeout}` is the default of a flag.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.settings.flags import GROUPS, shown_default  # noqa: E402
from hack.written import write_or_check  # noqa: E402

PAGE, TEMPLATE = ROOT / "docs" / "reference" / "limits.md", ROOT / "hack" / "limits.txt"
PLACEHOLDER = re.compile(r"\{(--)?([\w.-]+)(?: ([bs]))?\}")
_SIZES = ((1 << 20, "MiB"), (1 << 10, "KiB"))
_TIMES = ((3600, "h"), (60, "min"))
_FLAGS = {flag.name: flag for _, flags in GROUPS for flag in flags}


def constant(name: str) -> float:
    """The value of a constant, such as `http.exchange.MAX_BODY`. Raises AttributeError or ImportError without one."""
    path = name if name.startswith("storage.") else f"gateway.{name}"
    module, _, last = path.rpartition(".")
    owner: object
    if module.rpartition(".")[2][0].isupper():  # the default of a class's attribute
        module, _, of = module.rpartition(".")
        owner = getattr(import_module(module), of)()
    else:
        owner = import_module(module)
    value = getattr(owner, last)
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is not a number: {value!r}")
    return value


def amount(value: float, unit: str) -> str:
    """A number as the page shows it: 10 000, 64 MiB, 15 min, 0.25 s."""
    if unit == "b":
        for size, word in _SIZES:
            if value >= size and value % size == 0:
                return f"{value // size:g} {word}"
        return f"{_count(value)} bytes"
    if unit == "s":
        for size, word in _TIMES:
            if value > size and value % size == 0:
                return f"{value // size:g} {word}"
        return f"{value:g} s" if value >= 0.1 else f"{value * 1000:g} ms"
    return _count(value)


def _count(value: float) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else f"{value:g}"


def _filled(found: re.Match[str]) -> str:
    is_flag, name, unit = found.groups()
    return shown_default(_FLAGS[name]) if is_flag else amount(constant(name), unit or "")


def page() -> str:
    """The page, with its numbers."""
    return PLACEHOLDER.sub(_filled, TEMPLATE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page, __doc__))
