"""The worksheet of a move to another release: what upstream changed, and the module here that has each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import go_source
from gates import declared, minor_of, module_folder, state_at
from lifecycle import versions
from roles import policy

from gateway.defaults.registry import MODULES as DEFAULTS
from gateway.kinds.strategies import MODULES as STRATEGIES

ROOT = Path(__file__).resolve().parent.parent.parent
RULES: dict[str, tuple[str, ...]] = {
    "kubernetes": ("pkg/apis", "pkg/registry", "plugin/pkg/admission", "plugin/pkg/auth", "pkg/printers"),
    "apiserver": (
        *("pkg/endpoints", "pkg/registry", "pkg/admission", "pkg/cel", "pkg/authentication", "pkg/authorization"),
        *("pkg/storage", "pkg/util/flowcontrol", "pkg/audit"),
    ),
    "apimachinery": ("pkg/api", "pkg/apis/meta", "pkg/util/validation", "pkg/util/managedfields"),
    "apiextensions-apiserver": ("pkg/apis", "pkg/apiserver", "pkg/registry", "pkg/controller"),
    "kube-aggregator": ("pkg/apiserver", "pkg/controllers", "pkg/registry"),
    "pod-security-admission": ("admission", "policy"),
}
"""The folders of each module with rules that a server follows."""
OF_KINDS = ("pkg/apis/", "pkg/registry/")
"""The folders of k8s.io/kubernetes whose functions are named after kinds."""
PLACES = (
    ("kubernetes/pkg/apis/authentication/", "gateway/subresources, gateway/access"),
    ("kubernetes/pkg/apis/authorization/", "gateway/validation/access_review.py"),
    ("kubernetes/pkg/registry/authorization/", "gateway/subresources/reviews.py"),
    ("kubernetes/pkg/apis/certificates/", "gateway/validation/certificate_request.py"),
    ("kubernetes/pkg/apis/core/", "gateway/validation"),
    ("apiserver/pkg/endpoints/handlers/", "gateway/verbs, gateway/writing, gateway/reading"),
    ("apiserver/pkg/endpoints/filters/", "gateway/requests"),
    ("apiserver/pkg/endpoints/discovery/", "gateway/discovery"),
    ("apiserver/pkg/endpoints/", "gateway/endpoints"),
    ("apiserver/pkg/registry/", "gateway/writing, gateway/kinds/strategy.py"),
    ("apiserver/pkg/admission/plugin/webhook/", "gateway/admission/webhooks"),
    ("apiserver/pkg/admission/plugin/policy/", "gateway/admission/policies"),
    ("apiserver/pkg/admission/plugin/manifest/", "gateway/admission/manifests.py"),
    ("apiserver/pkg/admission/", "gateway/admission"),
    ("apiserver/pkg/cel/", "gateway/cel"),
    ("apiserver/pkg/authentication/", "gateway/access"),
    ("apiserver/pkg/authorization/", "gateway/access"),
    ("apiserver/pkg/storage/", "storage"),
    ("apiserver/pkg/util/flowcontrol/", "gateway/flowcontrol"),
    ("apiserver/pkg/audit/", "gateway/audit"),
    ("apiextensions-apiserver/pkg/apiserver/schema/", "gateway/customresources, gateway/validation/schema_*.py"),
    ("apiextensions-apiserver/", "gateway/customresources"),
    ("kube-aggregator/", "gateway/aggregation"),
    ("pod-security-admission/", "gateway/admission/pod_security"),
    ("kubernetes/plugin/pkg/admission/", "gateway/admission/plugins"),
    ("kubernetes/plugin/pkg/auth/", "gateway/access"),
    ("kubernetes/pkg/printers/", "gateway/kinds/columns"),
    ("apimachinery/pkg/util/managedfields/", "gateway/apply"),
    ("apimachinery/pkg/api/validation/", "gateway/validation/objectmeta.py"),
    ("apimachinery/", "gateway/validation"),
)
"""Where the rules of a folder are here, if no kind's name says it; the first that fits counts."""

Json = dict[str, Any]


def worksheet(before: str, after: str, said: list[str]) -> str:
    """The worksheet of a move from `before` to `after`; `said` has a line about each generator."""
    parts = (
        [f"# From Kubernetes {before} to {after}", "", *(f"- {each}" for each in said)],
        [f"- `{module}@{after}`" for module in RULES],
        ["## Kinds", "", *_kinds(before, after)],
        ["## Feature gates", "", *_gates(before, after)],
        ["## Default roles and bindings that changed", "", *_roles(before, after)],
        ["## Fields that no rule mentions", "", *_fields(before, after)],
        ["## Rules that changed", "", *_rules(before, after)],
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _kinds(before: str, after: str) -> Iterator[str]:
    """Versions of kinds that came, went, or are now on by default; and what those on by default lack here."""
    old, new = versions(before), versions(after)
    for place in sorted(old.keys() - new.keys()):
        yield f"- `{place}` is gone."
    for place in sorted(new):
        on, was = new[place]["on"], old.get(place, {}).get("on")
        if was is None:
            yield f"- `{place}` is new, {'on' if on else 'off'} by default.{_lacking(place) if on else ''}"
        elif on != was:
            yield f"- `{place}` is now {'on' if on else 'off'} by default.{_lacking(place) if on else ''}"


def _lacking(place: str) -> str:
    """What a kind lacks here: a strategy, columns, defaults; "" if it has all."""
    group, version, kind = place.split("/")
    own = {
        "a strategy": any(known[0] == group and known[1] == plural_of(kind) for known in STRATEGIES),
        "columns": f'"{kind}"' in _texts("gateway/kinds/columns"),
        "defaults": kind in DEFAULTS.get(f"{group}/{version}" if group else version, {}),
    }
    lacking = [name for name, there in own.items() if not there]
    return f" Here it has no {', no '.join(name.removeprefix('a ') for name in lacking)}." if lacking else ""


def plural_of(kind: str) -> str:
    """The plural of a kind, as resources are named: "policies" for "Policy"."""
    text = kind.lower()
    if text.endswith("y") and text[-2] not in "aeiou":
        return f"{text[:-1]}ies"
    return f"{text}es" if text.endswith(("s", "x", "ch")) else f"{text}s"


def _gates(before: str, after: str) -> Iterator[str]:
    """Gates that came, went or have another state, and the modules whose rules name them."""
    old = {name: state_at(each["specs"], minor_of(before)) for name, each in declared(before).items()}
    new = {name: state_at(each["specs"], minor_of(after)) for name, each in declared(after).items()}
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was == now:
            continue
        change = f"{_state(was)} → {_state(now)}"
        named = [path for path, text in _modules().items() if f'"{name}"' in text]
        yield f"- `{name}`: {change}{'; ' + ', '.join(f'`{path}`' for path in named) if named else ''}"


def _state(state: list[Any] | None) -> str:
    if state is None:
        return "none"
    stage, on, locked = state
    return f"{stage or 'GA'} {'on' if on else 'off'}{', locked' if locked else ''}"


def _roles(before: str, after: str) -> Iterator[str]:
    """The default roles and bindings that came, went or changed."""
    old, new = policy(before), policy(after)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            what = "is new" if name not in old else "is gone" if name not in new else "has changed"
            yield f"- `{name}` {what}."


def _fields(before: str, after: str) -> Iterator[str]:
    """New fields of k8s.io/api whose name stands in no module here."""
    old, new = (go_source.fields(module_folder("api", each)) for each in (before, after))
    everything = "\n".join(_modules().values())
    for struct in sorted(new):
        unknown = [name for name in sorted(new[struct] - old.get(struct, set())) if f'"{name}"' not in everything]
        if unknown and (struct in old or any(struct.startswith(each.rpartition(".")[0] + ".") for each in old)):
            yield f"- `{struct}`: {', '.join(f'`{name}`' for name in unknown)}"


def _rules(before: str, after: str) -> Iterator[str]:
    """The functions with rules that came, went or changed, by file, with the modules here."""
    for module, folders in RULES.items():
        old, new = (go_source.functions(module_folder(module, each), folders) for each in (before, after))
        changes: dict[str, list[str]] = {}
        for file, name in sorted(old.keys() | new.keys()):
            was, now = old.get((file, name)), new.get((file, name))
            if was != now:
                mark = "+" if was is None else "-" if now is None else ""
                changes.setdefault(file, []).append(mark + name)
        for file, names in changes.items():
            yield f"- `{module}/{file}` ({_here(module, file, names)}): {', '.join(names)}"


def _here(module: str, file: str, names: list[str]) -> str:
    """The modules here with the rules of a file: those that name it, those of the kinds, else those of its folder."""
    parts, name = file.split("/"), file.rpartition("/")[2]
    found = {path for path, text in _modules().items() if f"/{parts[-2]}/{name}" in text}
    if not file.startswith(OF_KINDS):
        return _listed(found) or _of_folder(f"{module}/{file}")
    words = {word.lower() for each in names for word in _kinds_in(each)}
    if file.startswith("pkg/registry/"):
        words.update(parts)
    for (_, plural), strategy in STRATEGIES.items():
        singular = plural.removesuffix("s")
        if words & {plural, singular, plural.removesuffix("es"), plural.removesuffix("ies") + "y"}:
            found.add(f"gateway/kinds/strategies/{strategy}.py")
    return _listed(found) or _of_folder(f"{module}/{file}")


def _listed(paths: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(paths))


def _of_folder(path: str) -> str:
    """Where the rules of a file's folder are here."""
    return next((f"`{place}`" for prefix, place in PLACES if path.startswith(prefix)), "no module found")


def _kinds_in(function: str) -> Iterator[str]:
    """The kinds that a function's name has: "Pod" and "PodSpec" are of "ValidatePodSpec"."""
    name = re.sub(r"^(Validate_?|validate|Drop|drop|SetDefaults_)", "", function.rpartition(".")[2])
    words = re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z0-9]+", name)
    for end in range(1, len(words) + 1):
        yield "".join(words[:end])


@cache
def _modules() -> dict[str, str]:
    """The text of each module of the server, by path."""
    paths = [path for room in ("gateway", "storage") for path in sorted((ROOT / room).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def _texts(folder: str) -> str:
    return "\n".join(text for path, text in _modules().items() if path.startswith(folder))
