"""No cache is unbounded: state belongs to objects that are freed, and byte limits bound clients' data."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

# functions that remember by an argument, of which there are few values: those of the code and the catalog
FEW = frozenset(
    {
        "gateway/access/keys.py:_signing_key",
        "gateway/admission/plugins/__init__.py:plugin_of",
        "gateway/admission/podsecurity/registry.py:checks_of",  # no minor is newer than the newest
        "gateway/kinds/builtin.py:_registry",
        "gateway/release/gates.py:known",
        "gateway/openapi/gnostic.py:gnostic",
        "gateway/openapi/schemas.py:_kinds_by_type",  # of a minor's catalog
        "gateway/openapi/schemas.py:_schema",
        "gateway/schema/catalog.py:_of_file",  # of a minor
        "gateway/schema/descriptions.py:description_of",
        "gateway/validation/pod_options.py:_of_create",  # of three booleans
        "gateway/verbs/__init__.py:_imported",
        "storage/embedded/binary.py:binary_version",
    }
)
# dicts and the like of modules that grow with what the code declares, or up to a bound
GROWING = frozenset(
    {
        "gateway/defaults/registry.py:_loaded",
        "gateway/kinds/known_canonical.py:_noted",  # bounded by bytes
        "gateway/kinds/shared_attributes.py:_known",  # bounded by number and length
        "gateway/kinds/strategies/__init__.py:_imported",
        "gateway/requests/measures.py:_known",  # goes with the kind
        "storage/instruments/families.py:_declared",
    }
)
# `lru_cache` bounds the number of results and not their bytes, so its arguments must be short
SHORT = {
    "gateway/access/keys.py:_key_of": "keys of control planes, which this server makes",
    "gateway/admission/podsecurity/metrics.py:_evaluations": "names of policies and operations",
    "gateway/admission/podsecurity/reviews.py:_policy_of": "values of labels",
    "gateway/apply/managed_fields.py:_uncounted": "paths and names of the code",
    "gateway/apply/managed_fields.py:reset_set": "paths of the code",
    "gateway/encodings/protobuf_values.py:_day": "dates",
    "gateway/encodings/protobuf_values.py:_time": "canonical times",
    "gateway/kinds/builtin.py:_registry": "minors",
    "gateway/kinds/columns/durations.py:aging": "numbers",
    "gateway/kinds/columns/durations.py:epoch": "canonical times",
    "gateway/kinds/stored_head.py:head_of": "names of kinds and versions",
    "gateway/kinds/strategies/__init__.py:strategy_for": "names of resources",
    "gateway/quotas/evaluators/__init__.py:evaluator_of": "names of resources",
    "gateway/release/client_versions.py:client_versions": "minors",
    "gateway/release/metrics.py:forms": "minors",
    "gateway/release/release.py:_release": "minors and gates",
    "gateway/validation/internal_form.py:_of_variant": "minors",
    "storage/etcd/http2/headers.py:decoded": "header blocks of etcd, of at most two frames",
}
# what keeps an order of use by itself; all else uses gateway.memo.Recent, which has a bound in bytes
IN_ORDER = {
    "gateway/controllers/namespaces.py": "names of namespaces",
    "gateway/encodings/rendering_budget.py": "bounded by bytes",
    "gateway/memo.py": "bounded by bytes",
    "gateway/outbound/client.py": "open connections",
    "gateway/outbound/metrics.py": "names of hosts",
    "gateway/validation/go_regexp.py": "bounded by bytes",
    "gateway/work_queue.py": "work to do, by keys of objects that exist",
    "storage/instruments/owners.py": "names of what has metrics",
    "storage/memo.py": "bounded by bytes",
}
# what is empty and stays so
EMPTY = frozenset(
    {
        "gateway/apply/field_set.py:LEAF",
        "gateway/cel/plan.py:_NO_FRAME",
        "gateway/http/exchange.py:_NO_QUERY",
        "gateway/http/exchange.py:_NO_SCOPE",
        "gateway/operations/framework.py:ANY_METHOD",
        "gateway/requests/resting_context.py:_NO_HEADERS",
        "gateway/requests/resting_context.py:_NO_SCOPE",
        "storage/history.py:_NONE",
        "storage/history.py:_NO_TIMES",
    }
)
_EMPTY = frozenset({"dict", "list", "set", "OrderedDict", "defaultdict", "Counter", "deque"})


_REMEMBERS = re.compile(r"cache|OrderedDict|^\S.*= ?(\{\}|\[\]|[\w.]+(\[.*\])?\(\))", re.MULTILINE)
"""What a module with a memory has in its text: to parse all modules takes five seconds."""


@cache
def _modules() -> list[tuple[str, ast.Module]]:
    paths = (
        path for room in ("gateway", "storage", "apiserver_gateway") for path in sorted((ROOT / room).rglob("*.py"))
    )
    texts = ((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)
    return [(path, ast.parse(text)) for path, text in texts if _REMEMBERS.search(text)]


def _is_unbounded(decorator: ast.expr) -> bool:
    """Whether a decorator remembers all results for ever."""
    if isinstance(decorator, ast.Call):
        bounds = [*decorator.args, *(each.value for each in decorator.keywords if each.arg == "maxsize")]
        return _named(decorator.func) == "lru_cache" and any(
            isinstance(each, ast.Constant) and each.value is None for each in bounds
        )
    return _named(decorator) == "cache"


def _named(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_empty(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call) and not value.args and not value.keywords:
        function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
        return _named(function) in _EMPTY
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.List) and not value.elts


def test_no_function_remembers_without_a_bound_what_it_was_asked() -> None:
    found = {
        f"{path}:{node.name}"
        for path, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and (node.args.args or node.args.posonlyargs or node.args.vararg)
        and any(map(_is_unbounded, node.decorator_list))
    }
    assert found <= FEW, found - FEW


def test_no_module_has_a_memory_that_grows() -> None:
    found = set()
    for path, module in _modules():
        for node in module.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and _is_empty(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update(f"{path}:{_named(target)}" for target in targets)
    assert found == GROWING | EMPTY


def test_a_memory_that_counts_its_results_alone_has_short_arguments() -> None:
    found = {
        f"{path}:{node.name}"
        for path, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef) and any("lru_cache" in ast.unparse(each) for each in node.decorator_list)
    }
    assert found == SHORT.keys(), "what clients send has any length: gateway.memo bounds it by bytes"


def test_what_is_dropped_in_the_order_of_its_use_is_bounded_by_bytes() -> None:
    found = {
        path
        for path, module in _modules()
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("OrderedDict")
    }
    assert found == IN_ORDER.keys(), "gateway.memo.Recent is bounded by number and bytes"
