"""Links in what a proxied server answers: those to itself lead through the proxy (kube-apiserver's rules)."""

from __future__ import annotations

import html
import posixpath
import re
import zlib
from dataclasses import dataclass
from urllib.parse import urlsplit

# which attributes of which elements are URLs
_URLS: dict[str, frozenset[str]] = {
    element: frozenset(attributes.split())
    for element, attributes in {
        "a": "href",
        "applet": "codebase",
        "area": "href",
        "audio": "src",
        "base": "href",
        "blockquote": "cite",
        "body": "background",
        "button": "formaction",
        "command": "icon",
        "del": "cite",
        "embed": "src",
        "form": "action",
        "frame": "longdesc src",
        "head": "profile",
        "html": "manifest",
        "iframe": "longdesc src",
        "img": "longdesc src usemap",
        "input": "src usemap formaction",
        "ins": "cite",
        "link": "href",
        "object": "classid codebase data usemap",
        "q": "cite",
        "script": "src",
        "source": "src",
        "video": "poster src",
    }.items()
}
_RAW = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "noscript", "xmp"})
_OPENING = re.compile(r"<!--|<[!?/]|<[A-Za-z]")
_TAG = re.compile(r"<([A-Za-z][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE = re.compile(r"([^\s=/][^\s=/>]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
_DEFLATE = -zlib.MAX_WBITS
_GZIP = zlib.MAX_WBITS | 16


class TooLarge(Exception):
    """A page is not rewritten: it is too large, or not in the coding that it claims."""


@dataclass(frozen=True, slots=True)
class Links:
    """Where a proxied server is for clients: below `prefix`. `host` is the server's own, `asked` the Host header."""

    prefix: str
    host: str
    asked: str

    def rewritten(self, url: str) -> str:
        """A URL that the server gave, as clients can use it."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        if (parts.netloc and parts.netloc not in (self.host, self.asked)) or not parts.path.startswith("/"):
            return url
        if parts.netloc != self.asked:
            parts = parts._replace(scheme="", netloc="")
        if not parts.path.startswith(self.prefix):
            path = posixpath.normpath(f"{self.prefix}/{parts.path.lstrip('/')}")
            parts = parts._replace(path=f"{path}/" if parts.path.endswith("/") and not path.endswith("/") else path)
        return parts.geturl()

    def page(self, body: bytes, coding: str, most: int) -> bytes:
        """A page of HTML with its links rewritten, in the same coding: "", gzip or deflate. Raises TooLarge."""
        bits = {"gzip": _GZIP, "deflate": _DEFLATE}.get(coding, 0)
        if bits:
            unpacking = zlib.decompressobj(bits)
            try:
                body = unpacking.decompress(body, most)
            except zlib.error as error:
                raise TooLarge(str(error)) from None
            if unpacking.unconsumed_tail:
                raise TooLarge
        text = self._html(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if not bits:
            return text
        packing = zlib.compressobj(wbits=bits)
        return packing.compress(text) + packing.flush()

    def _html(self, text: str) -> str:
        """Everything as it is, but for opening tags; what is broken stays as it is, to the end."""
        parts, at = list[str](), 0
        while (found := _OPENING.search(text, at)) is not None:
            start = found.start()
            if not text[start + 1].isalpha():
                end = text.find("-->" if found[0] == "<!--" else ">", start)
                if end < 0:
                    break
                parts.append(text[at:end])
                at = end
                continue
            tag = _TAG.match(text, start)
            if tag is None:
                break
            name = tag[1].lower()
            parts += (text[at:start], self._tag(name, tag[2]))
            at = tag.end()
            if name in _RAW:
                closing = re.compile(f"</{name}", re.IGNORECASE).search(text, at)
                if closing is None:
                    break
                parts.append(text[at : closing.start()])
                at = closing.start()
        parts.append(text[at:])
        return "".join(parts)

    def _tag(self, name: str, attributes: str) -> str:
        urls, said = _URLS.get(name, frozenset()), [f"<{name}"]
        for found in _ATTRIBUTE.finditer(attributes):
            key = found[1].lower()
            value = html.unescape(next((each for each in found.groups()[1:] if each is not None), ""))
            shown = html.escape(self.rewritten(value) if key in urls else value, quote=False).replace('"', "&#34;")
            said.append(f' {key}="{shown}"')
        said.append("/>" if attributes.rstrip().endswith("/") else ">")
        return "".join(said)
