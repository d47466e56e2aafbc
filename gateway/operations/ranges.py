"""Range requests for documents (RFC 9110, 14), answered as Go's http.ServeContent does.

A request for several ranges gets the whole document, as the RFC allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateway.operations.framework import Request, Response

_ONE = re.compile(r"bytes=\s*(\d{0,18})-(\d{0,18})\s*", re.ASCII)
_SEVERAL = re.compile(r"bytes=[\d\s,-]{1,4096}", re.ASCII)
_TEXT = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}


def part_of(request: Request, content: bytes, media_type: str, headers: Mapping[str, str]) -> Response:
    """The answer to a request with or without a Range: the whole content (200), a part (206), or an error (416)."""
    wanted = request.headers.get("range", "")
    offered = {**headers, "accept-ranges": "bytes"}
    condition = request.headers.get("if-range")
    if not wanted or request.method != "GET" or (condition is not None and condition != headers.get("etag")):
        return Response(content, headers=offered, media_type=media_type)
    one, refused = _ONE.fullmatch(wanted), {**_TEXT, **({"vary": headers["vary"]} if "vary" in headers else {})}
    if one is None or one[1] == one[2] == "":
        if _SEVERAL.fullmatch(wanted) and "," in wanted:
            return Response(content, headers=offered, media_type=media_type)
        return Response(b"invalid range\n", 416, refused)
    size = len(content)
    start, end = (int(one[1]), int(one[2] or size)) if one[1] else (max(0, size - int(one[2])), size)
    if one[2] and start > end:
        return Response(b"invalid range\n", 416, refused)
    if start >= size:
        outside = {**refused, "content-range": f"bytes */{size}"}
        return Response(b"invalid range: failed to overlap\n", 416, outside)
    end = min(end, size - 1)
    offered["content-range"] = f"bytes {start}-{end}/{size}"
    return Response(content[start : end + 1], 206, offered, media_type=media_type)
