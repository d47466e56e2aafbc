"""Continue tokens are kube-apiserver's."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import continuation
from storage.continuation import InvalidToken

PREFIX = b"/registry/pods/ns/"
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda name: ".." not in name)


def token(document: str | bytes) -> str:
    data = document.encode() if isinstance(document, str) else document
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@given(NAMES, st.integers(1, 1 << 62) | st.just(continuation.INCONSISTENT))
def test_a_token_leads_back_to_where_it_was_made(name: str, revision: int) -> None:
    start = PREFIX + name.encode() + b"\0"
    assert continuation.decode(continuation.encode(start, PREFIX, revision), PREFIX) == (start, revision)


def test_a_token_reads_as_kube_apiservers() -> None:
    made = continuation.encode(b"/registry/pods/ns/web-1\0", b"/registry/pods/", 42)
    assert made == "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NDIsInN0YXJ0IjoibnMvd2ViLTFcdTAwMDAifQ"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%%%", "illegal base64 data at input byte 0"),
        ("YWJj*", "illegal base64 data at input byte 4"),
        ("YWJjY", "illegal base64 data at input byte 4"),
        ("YQ==", "illegal base64 data at input byte 2"),
        ("", "unexpected end of JSON input"),
        (token("{"), "unexpected end of JSON input"),
        (token("abc"), "invalid character 'a' looking for beginning of value"),
        (token("{} x"), "invalid character 'x' after top-level value"),
        (token("7"), "json: cannot unmarshal number into Go value of type storage.continueToken"),
        (token('{"v":7}'), "json: cannot unmarshal number into Go struct field continueToken.v of type string"),
        (token('{"rv":"7"}'), "json: cannot unmarshal string into Go struct field continueToken.rv of type int64"),
        (token("{}"), "server does not recognize this encoded version "),
        (token('{"v":"v2","rv":1,"start":"a"}'), "server does not recognize this encoded version v2"),
        (
            token('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}'),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (token('{"v":"meta.k8s.io/v1","rv":1,"start":""}'), "encoded start key empty (version meta.k8s.io/v1)"),
    ],
)
def test_what_is_no_token_is_refused_in_kube_apiservers_words(text: str, message: str) -> None:
    with pytest.raises(InvalidToken) as refused:
        continuation.decode(text, PREFIX)
    assert str(refused.value) == f"continue key is not valid: {message}"


@pytest.mark.parametrize("start", ["../other/a", "a/../../b", "./a", "a//b", "//a", "..", "a/.."])
def test_a_token_never_leads_out_of_its_collection(start: str) -> None:
    with pytest.raises(InvalidToken):
        continuation.decode(token(f'{{"v":"meta.k8s.io/v1","rv":1,"start":"{start}"}}'), PREFIX)


@given(
    st.text(max_size=40) | st.binary(max_size=40).map(token) | st.text(max_size=40).map(lambda text: f'{{"v":"{text}')
)
def test_whatever_is_sent_leads_below_the_prefix_or_is_refused(text: str) -> None:
    try:
        start, _ = continuation.decode(text, PREFIX)
    except InvalidToken:
        return
    assert start.startswith(PREFIX)
