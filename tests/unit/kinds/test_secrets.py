"""What a Secret of a registry's credentials holds is JSON from outside."""

from __future__ import annotations

import asyncio
import base64

import pytest

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.secrets import STRATEGIES
from gateway.kinds.write_context import WriteContext
from gateway.time_limits import TakesLong, at_once
from gateway.validation.field import FieldError

KIND, KEY = "kubernetes.io/dockerconfigjson", ".dockerconfigjson"


def errors(content: bytes) -> list[FieldError]:
    secret: JsonObject = {"metadata": {"name": "a"}, "type": KIND, "data": {KEY: base64.b64encode(content).decode()}}
    context: WriteContext = object()  # type: ignore[assignment]  # no rule of Secrets looks at it
    return list(STRATEGIES[""].validate(secret, context))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"auths":{}}', ""),
        (b"null", ""),
        (b"[1]", "cannot unmarshal array into Go value"),
        (b"{x}", "invalid character 'x' looking for beginning of object key string"),
        (b"{" + b" " * 40_000, "invalid character looking for beginning of value"),
        (b"[" + b"[]," * 250_000 + b"1]", "cannot unmarshal array into Go value"),
        (b"[" + b"[]," * 320_000 + b"1]", "more than 300000 arrays and objects"),
    ],
)
def test_the_error_is_that_of_the_decoder(content: bytes, told: str) -> None:
    found = [error.body for error in errors(content)]
    assert len(found) == bool(told) and all(told in each for each in found)


def test_content_of_many_members_leaves_the_event_loop() -> None:
    """700 000 of them were read by one call, which kept the GIL for a second."""

    async def on_loop() -> None:
        with pytest.raises(TakesLong):
            at_once(errors, b"[" + b"[]," * 250_000 + b"1]")

    asyncio.run(on_loop())
