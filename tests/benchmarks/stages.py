"""Where the time of a pod's creation goes: microseconds by stage, in this process and without etcd.

python -m tests.benchmarks.stages
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from gateway.apply import update_managed
from gateway.defaults import apply_defaults
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.strategies import strategy_for
from gateway.kinds.write_context import WriteContext
from gateway.schema.catalog import type_of
from gateway.schema.decode import DecodeReport, decode, parse_body
from gateway.schema.encode import encode_stored
from gateway.validation.objectmeta import validate_object_meta
from storage.entry import with_version
from tests.benchmarks.objects import pod

ROUNDS = 2000
NOW = "2026-01-01T00:00:00Z"


def measure(work: Callable[[Any], object], given: Callable[[], Any]) -> float:
    """Microseconds of one call, the best of five runs; what it is given is made anew outside the clock."""
    best = float("inf")
    for _ in range(5):
        arguments = [given() for _ in range(ROUNDS // 5)]
        began = time.perf_counter()
        for argument in arguments:
            work(argument)
        best = min(best, (time.perf_counter() - began) / len(arguments))
    return best * 1e6


def main() -> None:
    resource = builtin_registry().resources["", "v1", "pods", ""]
    type_, strategy = type_of(resource.type_name), strategy_for("", "pods")
    context = WriteContext(Attributes(User("admin"), RequestInfo("create", "")), resource, "default", "p", now=NOW)
    body = json.dumps(pod("p", 1)).encode()
    parsed, _ = parse_body(body)
    decoded = decode(type_, parsed, DecodeReport())
    defaulted = deepcopy(decoded) | {"kind": "Pod", "apiVersion": "v1"}
    apply_defaults("v1", "Pod", defaulted)
    defaulted["metadata"] |= {"uid": "0" * 36, "creationTimestamp": NOW, "namespace": "default"}

    def managed(obj: JsonObject) -> JsonObject:
        update_managed(obj, None, type_, manager="bench", api_version="v1", now=NOW, reset=strategy.reset_fields)
        return obj

    complete = managed(deepcopy(defaulted))
    strategy.prepare_for_create(complete, context)
    value = encode_stored(complete, "Pod", "v1")
    warn = strategy.warnings_on_create or (lambda _obj, _context: [])

    def copy_of(obj: JsonObject) -> Callable[[], JsonObject]:
        return lambda: deepcopy(obj)

    stages: list[tuple[str, Callable[[Any], object], Callable[[], Any]]] = [
        ("parse the body", parse_body, lambda: body),
        ("decode by schema", lambda obj: decode(type_, obj, DecodeReport()), copy_of(parsed)),
        ("default", lambda obj: apply_defaults("v1", "Pod", obj), copy_of(decoded)),
        ("managed fields", managed, copy_of(defaulted)),
        ("prepare", lambda obj: strategy.prepare_for_create(obj, context), copy_of(defaulted)),
        ("validate metadata", lambda obj: validate_object_meta(obj["metadata"], True, None), lambda: complete),
        ("validate the rest", lambda obj: strategy.validate(obj, context), lambda: complete),
        ("warnings", lambda obj: warn(obj, context), lambda: complete),
        ("encode", lambda obj: encode_stored(obj, "Pod", "v1"), lambda: complete),
        ("answer", lambda stored: with_version(stored, 12345), lambda: value),
    ]
    print(f"a pod of {len(body)} bytes as sent, {len(value)} as stored")
    total = 0.0
    for name, work, given in stages:
        took = measure(work, given)
        total += took
        print(f"{name:24s}{took:8.1f} us")
    print(f"{'together':24s}{total:8.1f} us")


if __name__ == "__main__":
    main()
