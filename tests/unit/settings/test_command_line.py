"""The command line of `serve` accepts each flag of the table, in every spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.settings.command_line import CommandLine, read_flags
from gateway.settings.config import InvalidSettings
from gateway.settings.flags import FLAGS, Flag

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
SAID = st.lists(st.tuples(st.sampled_from(FLAGS), TEXT, st.sampled_from("=_ ")), max_size=6)


def _words(flag: Flag, text: str, spelling: str) -> list[str]:
    name = f"--{flag.name.replace('-', '_') if spelling == '_' else flag.name}"
    if spelling == " " and not flag.is_switch:
        return [name, text]
    return [f"{name}={text}"]


@given(SAID)
def test_all_spellings_say_the_same(said: list[tuple[Flag, str, str]]) -> None:
    words = [word for flag, text, spelling in said for word in _words(flag, text, spelling)]
    expected: dict[str, str] = {}
    for flag, text, _ in said:
        expected[flag.name] = (
            f"{expected[flag.name]}{flag.separator}{text}" if flag.is_list and flag.name in expected else text
        )
    assert read_flags(words) == CommandLine(expected)


@given(st.lists(st.text(max_size=12) | st.sampled_from([f"--{flag.name}" for flag in FLAGS]), max_size=5))
def test_no_words_are_anything_but_read_or_refused(words: list[str]) -> None:
    try:
        read_flags(words)
    except InvalidSettings as error:
        assert "\n" not in repr(str(error))


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["--embedded-etcd"], {"embedded-etcd": "true"}),
        (["--embedded-etcd", "false"], {"embedded-etcd": "false"}),
        (["--embedded-etcd", "--workers", "2"], {"embedded-etcd": "true", "workers": "2"}),
        (["--tls-san=a,b", "--tls-san", "c"], {"tls-san": "a,b,c"}),
        (["--admin-token=a=b"], {"admin-token": "a=b"}),
        (["--workers=1", "--workers=2"], {"workers": "2"}),
    ],
)
def test_switches_and_lists(words: list[str], texts: dict[str, str]) -> None:
    assert read_flags(words).texts == texts


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--secure-prot=1"], "there is no flag --secure-prot (do you mean --secure-port?)"),
        (["--workers"], "--workers needs a value"),
        (["serve"], "serve takes flags only, not 'serve'"),
        (["--embedded-etcd", "x"], "serve takes flags only, not 'x'"),
        (["--control-fd=x"], "give a file descriptor"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], message: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_flags(words)
    assert message in str(caught.value)
