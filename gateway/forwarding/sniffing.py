"""The content type of an answer that names none, found by how its body begins (WHATWG, "MIME Sniffing").

Go's servers do this for every answer, so kube-apiserver does it for forwarded answers too.
"""

from __future__ import annotations

import re

LOOKED_AT = 512  # bytes of the body
_SPACE = b"\t\n\x0c\r "
_TEXT = b"text/plain; charset=utf-8"
_TAGS = b"!DOCTYPE HTML|HTML|HEAD|SCRIPT|IFRAME|H1|DIV|FONT|TABLE|A|STYLE|TITLE|B|BODY|BR|P|!--"
_PAGE = re.compile(rb"<(?:" + _TAGS + rb")[ >]", re.IGNORECASE)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_BEGINNINGS = (
    (rb"%PDF-", b"application/pdf"),
    (rb"%!PS-Adobe-", b"application/postscript"),
    (rb"\xfe\xff..", b"text/plain; charset=utf-16be"),
    (rb"\xff\xfe..", b"text/plain; charset=utf-16le"),
    (rb"\xef\xbb\xbf.", _TEXT),
    (rb"\x00\x00[\x01\x02]\x00", b"image/x-icon"),
    (rb"BM", b"image/bmp"),
    (rb"GIF8[79]a", b"image/gif"),
    (rb"RIFF....WEBPVP", b"image/webp"),
    (rb"\x89PNG\r\n\x1a\n", b"image/png"),
    (rb"\xff\xd8\xff", b"image/jpeg"),
    (rb"FORM....AIFF", b"audio/aiff"),
    (rb"ID3", b"audio/mpeg"),
    (rb"OggS\x00", b"application/ogg"),
    (rb"MThd\x00\x00\x00\x06", b"audio/midi"),
    (rb"RIFF....AVI ", b"video/avi"),
    (rb"RIFF....WAVE", b"audio/wave"),
    (rb"\x1a\x45\xdf\xa3", b"video/webm"),
    (rb"\x00\x01\x00\x00", b"font/ttf"),
    (rb"OTTO", b"font/otf"),
    (rb"ttcf", b"font/collection"),
    (rb"wOFF", b"font/woff"),
    (rb"wOF2", b"font/woff2"),
    (rb"\x1f\x8b\x08", b"application/x-gzip"),
    (rb"PK\x03\x04", b"application/zip"),
    (rb"Rar!\x1a\x07(?:\x00|\x01\x00)", b"application/x-rar-compressed"),
    (rb"\x00asm", b"application/wasm"),
)
_known = re.compile(b"|".join(b"(%b)" % pattern for pattern, _ in _BEGINNINGS), re.DOTALL).match
_FONT = b"LP"  # at byte 34: application/vnd.ms-fontobject, which is looked for before other fonts and archives
_FONT_AT = 34
_BEFORE_FONT = [each for _, each in _BEGINNINGS].index(b"font/ttf")
_MP4 = b"video/mp4"


def content_type(body: bytes) -> bytes:
    """The type of a body by its first bytes; b"" for an empty one."""
    if not body:
        return b""
    begin = body[:LOOKED_AT]
    words = begin.lstrip(_SPACE)
    if _PAGE.match(words):
        return b"text/html; charset=utf-8"
    if words.startswith(b"<?xml"):
        return b"text/xml; charset=utf-8"
    found = _known(begin)
    place = len(_BEGINNINGS) if found is None else (found.lastindex or 1) - 1
    if place >= _BEFORE_FONT and begin.startswith(_FONT, _FONT_AT):
        return b"application/vnd.ms-fontobject"
    if found is not None:
        return _BEGINNINGS[place][1]
    if _is_mp4(begin):
        return _MP4
    return b"application/octet-stream" if _NO_TEXT.search(words) else _TEXT


def _is_mp4(begin: bytes) -> bool:
    size = int.from_bytes(begin[:4])
    if len(begin) < 12 or len(begin) < size or size % 4 or begin[4:8] != b"ftyp":
        return False
    return any(begin[at : at + 3] == b"mp4" for at in range(8, size, 4) if at != 12)
