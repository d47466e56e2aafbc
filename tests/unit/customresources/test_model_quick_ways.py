"""The fast paths for custom objects give the same results as full validation and decoding, for random schemas."""

from __future__ import annotations

import random
from typing import Any

from gateway.customresources.model import model_of
from gateway.jsontypes import dumps
from gateway.kinds.model import Model
from gateway.schema.decode import DecodeError, DecodeReport
from gateway.schema.encode import encode_stored
from gateway.schema.structural import as_go_numbers as as_it_came
from gateway.validation.schema_accepts import compile_acceptance
from gateway.validation.schema_values import compile_values
from tests.upstream.definition_fuzz.schemas import Maker
from tests.upstream.definition_fuzz.values import value_of

CASES = 150
META = {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}


def case(number: int) -> tuple[Model, dict[str, Any], random.Random]:
    rng = random.Random(f"quick ways {number}")
    definition = as_it_came(Maker(rng).definition("e.com", number), [])  # with numbers as they are stored
    definition["status"] = {"acceptedNames": definition["spec"]["names"]}
    return model_of(definition, lambda _: None), definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], rng


def test_what_is_accepted_at_once_is_valid() -> None:
    accepted = valid = 0
    for number in range(CASES):
        _, schema, rng = case(number)
        accepts, check = compile_acceptance(schema, compile_values), compile_values(schema)
        for _ in range(6):
            value = value_of(rng, schema, odd=0.01)
            wrong = check(value, "", None)
            assert not (accepts(value) and wrong), (schema, value, wrong)
            accepted, valid = accepted + accepts(value), valid + (not wrong)
    assert valid
    assert accepted > 0.99 * valid  # the fast check accepts nearly all valid objects


def test_a_written_object_is_read_as_it_is() -> None:
    """Decoding a stored object does not change it, so a process need not decode an object that it has written."""
    read = 0
    for number in range(CASES):
        model, schema, rng = case(number)
        version = model.stored
        if b":null" in dumps(schema):
            continue  # a null default: the API refuses such a definition
        for _ in range(3):
            made = value_of(rng, schema, odd=0.01)
            body = {**(made if isinstance(made, dict) else {}), "apiVersion": version.api_version, "kind": model.kind}
            try:
                obj = version.decode({**body, "metadata": META}, DecodeReport())
            except DecodeError:
                continue
            version.default(obj)
            if version.strategies is not None and version.strategies("").reread:
                continue  # this strategy drops fields on create, and sets them again when the object is read
            value = encode_stored(obj, model.kind, version.api_version, version.type)
            assert model.canonicalise(value) == value
            read += 1
    assert read > CASES


def test_what_is_known_to_be_settled_is_asked_once() -> None:
    model, _, _ = case(0)
    settled = model.settled
    assert settled is not None
    settled.add(b"no object")
    assert model.canonicalise(b"no object") == b"no object"
    assert not settled.take(b"no object")
