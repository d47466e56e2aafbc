"""PEM blocks, as Go's encoding/pem finds them."""

from __future__ import annotations

import time

import pytest

from gateway.pem import PemBlock, blocks, certificates_in
from gateway.validation.certificate_pem import certificates_problem, request_problem
from gateway.validation.key_pairs import key_pair_problem
from tests.limits import at_most_cpu

ONE = b"-----BEGIN A-----\nYQ==\n-----END A-----"
LARGE = 3 << 20
HOSTILE = {
    "bare end": b"\n-----END ",
    "headers in blocks": b"-----BEGIN A-----\na: b\n-----END A:-----\n",
    "no end": b"-----BEGIN A-----\n",
    "no line": b"-----BEGIN A-----",
    "another end": b"-----BEGIN A-----\n-----END B-----\n",
    "headers": b"a: b\n",
    "dashes": b"-",
    "types": b"-----BEGIN A B C D E F-----\r\n",
}


@pytest.mark.parametrize(
    ("data", "kinds"),
    [
        (ONE, ["A"]),
        (b"text\n" + ONE + b" \t\r\n" + ONE + b"\n", ["A", "A"]),
        (b"text " + ONE + b"\n", []),  # a block begins with a line
        (ONE.replace(b"\nYQ", b"YQ"), []),
        (ONE.replace(b"YQ==", b"!") + b"\n" + ONE, ["A"]),
        (b"-----BEGIN A-----\n-----END A-----", ["A"]),
        (b"-----BEGIN A-----\nk: v\n-----END A-----\n" + ONE, ["A"]),
        (ONE + b" more", []),
        (b"-----BEGIN B-----\n" + ONE, ["A"]),
        (b"-----BEGIN A-----\nx\n-----END B-----\n" + ONE, ["A"]),
        (b"-----BEGIN A\n" + ONE, ["A"]),
        (b"-----BEGIN A-----", []),
        (b"", []),
    ],
)
def test_what_is_found(data: bytes, kinds: list[bytes]) -> None:
    assert [block.kind for block in blocks(data)] == kinds


def test_parts() -> None:
    assert list(blocks(b"x\n" + ONE + b"\n")) == [PemBlock("A", False, b"a", ONE)]
    with_header = ONE.replace(b"\nYQ", b"\nk: v\n\nYQ")
    assert list(blocks(with_header)) == [PemBlock("A", True, b"a", with_header)]


@pytest.mark.parametrize("pump", HOSTILE)
def test_time_grows_with_the_text(pump: str) -> None:
    repeated = HOSTILE[pump]
    text = repeated * (LARGE // len(repeated))
    for look in (request_problem, certificates_problem, lambda data: key_pair_problem(data, data)):
        for data in (text, b"-----BEGIN CERTIFICATE-----\n" + text + b"-----END CERTIFICATE-----\n"):
            began = time.thread_time()
            assert look(data)
            at_most_cpu(time.thread_time() - began, 1.0)


def test_certificates_are_taken_out_of_a_text_with_keys() -> None:
    one = b"-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
    assert certificates_in(b"# ours\n" + one) == b"# ours\n" + one
    assert certificates_in(one + ONE + b"\n" + one) == one + one


def test_nothing_of_a_block_that_is_half_written_is_published() -> None:
    one = b"-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
    key = b"-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
    for cut in range(len(key)):
        for text in (one + key[:cut], key[cut:] + one, key[:cut] + one, one + key[:cut] + one):
            assert b"c2Vj" not in certificates_in(text) and b"PRIVATE" not in certificates_in(text)
        assert certificates_in(key[:cut]) == certificates_in(one[: cut // 2]) == b""
