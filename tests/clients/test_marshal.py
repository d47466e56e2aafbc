"""Texts are written as by Go's encoding/json."""

from __future__ import annotations

import json
import random
import subprocess

import pytest

from gateway.jsontypes import dumps, dumps_indented, loads
from tests.clients.golang import built

SPECIAL = "<>&\u2028\u2029\u2027\u202a\u2000\x00\x01\b\t\n\x0b\f\r\x1f \"'/\\\x7f\x80\xad\ufeff\ufffd\uffff😀é"
PLANES = [(0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF), (0x2000, 0x2040)]


def text(chance: random.Random) -> str:
    return "".join(
        chance.choice(SPECIAL) if chance.random() < 0.5 else chr(chance.randint(*chance.choice(PLANES)))
        for _ in range(chance.randrange(12))
    )


@pytest.mark.long
def test_any_text_is_escaped_as_by_go() -> None:
    program, chance = built("marshal"), random.Random(7)
    values = [{"": each} for each in SPECIAL] + [
        {text(chance): [text(chance), {text(chance): text(chance)}]} for _ in range(20_000)
    ]
    sent = "".join(json.dumps(value) + "\n" for value in values)
    answered = subprocess.run([program], input=sent.encode(), capture_output=True, check=True).stdout
    lines = answered.splitlines()
    assert lines == [dumps(value) for value in values]
    assert loads(dumps_indented(values)) == values and b"<" not in dumps_indented(values)
