"""--runtime-config: which built-in APIs are served (apiserver's `pkg/server/resourceconfig`)."""

from __future__ import annotations

Override = tuple[str, bool]
"""One of `STAGES`, `group/version` or `group/version/resource`, and whether it is served."""

ALL, STAGES = "api/all", ("api/all", "api/ga", "api/beta", "api/alpha")
UNSERVED_STAGES = (ALL, "api/beta", "api/alpha")  # they name versions, too, that this server does not have
_CORE, _LEGACY = ("v1", "api/v1"), "api/legacy"  # the core group; a key that kube-apiserver ignores
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True", ""})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


def overrides(text: str) -> tuple[Override, ...]:
    """Parses the overrides of a flag's text. If a key comes twice, the last one counts. Raises ValueError."""
    found: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        key, _, value = (each.strip() for each in part.partition("="))
        if key in _CORE or key.startswith(tuple(f"{each}/" for each in _CORE)):
            key = "/v1"
        elif key == _LEGACY:
            continue
        if key in STAGES and value not in ("true", "false"):
            raise ValueError(f"invalid value {key}={value}")
        if key not in STAGES and key.count("/") not in (1, 2):
            raise ValueError(
                f"runtime-config invalid key {key}; give group/version, such as apps/v1, or /v1 for the core"
            )
        if value not in _TRUE | _FALSE:
            raise ValueError(f"invalid value of {key}: {value}: give true or false")
        resource = "".join(key.split("/")[2:])
        if resource != resource.lower():
            raise ValueError(
                f'invalid key {key}: group/version/resource and resource is always lowercase plural, not "{resource}"'
            )
        found[key] = value in _TRUE
    if found == {ALL: False}:
        raise ValueError(f"invalid runtime-config with only {ALL}=false")
    return tuple(found.items())
