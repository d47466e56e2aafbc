"""Splits the text of an expression into tokens (cel-spec, "Syntax")."""

from __future__ import annotations

import re

_STRING = (
    r'[rR]"""(?s:.*?)"""'
    r"|[rR]'''(?s:.*?)'''"
    r'|"""(?:[^\\]|\\.)*?"""'
    r"|'''(?:[^\\]|\\.)*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
    r'|"(?:[^"\\\n\r]|\\.)*"'
    r"|'(?:[^'\\\n\r]|\\.)*'"
)
_TOKEN = re.compile(
    r"(?P<SKIP>(?:[\t \r\n\f]|//[^\n]*)+)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<IDENT>[a-zA-Z_][a-zA-Z0-9_]*)"
    r"|(?P<FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<ESCAPED>`[a-zA-Z0-9_.\-/ ]+`)"
    r"|(?P<OP>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = {"in": "in", "true": "true", "false": "false", "null": "null"}
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|(.?))", re.S
)


class LexerError(Exception):
    """No token starts at the offset that is the exception's argument."""


def tokens(text: str) -> tuple[list[str], list[str], list[int]]:
    """The kinds, texts and offsets of all tokens, as three lists of the same length. The last token is of kind "EOF".

    The kind of an operator is its text. Raises NotTokens.
    """
    kinds, texts, places = list[str](), list[str](), list[int]()
    end, at = len(text), 0
    for found in _TOKEN.finditer(text):
        start, stop = found.span()
        if start != at:
            raise LexerError(at)
        at = stop
        kind = found.lastgroup
        if kind == "SKIP":
            continue
        token = found[0]
        if kind == "IDENT":
            kind = _KEYWORDS.get(token, kind)
        elif kind == "OP":
            kind = token
        elif "\\" in token and not _well_escaped(kind or "", token):
            raise LexerError(start)
        kinds.append(kind or "")
        texts.append(token)
        places.append(start)
    if at != end:
        raise LexerError(at)
    kinds.append("EOF")
    texts.append("<EOF>")
    places.append(end)
    return kinds, texts, places


def _well_escaped(kind: str, token: str) -> bool:
    body = token[1:] if kind == "BYTES" else token
    return body[0] in "rR" or not any(found[1] is not None for found in _ESCAPE.finditer(body))
