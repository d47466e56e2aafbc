"""Rewrites links in the HTML of a proxied server, so that they lead through the proxy (kube-apiserver's rules)."""

from __future__ import annotations

import html
import posixpath
import re
import zlib
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from gateway.http.escapes import html_escaped

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
PLAIN = "$&+,/:;=@-_.~"  # characters that Go does not escape in a path
_RAW = frozenset({"script", "style", "textarea", "title", "iframe", "noembed", "noframes", "noscript", "xmp"})
_OPENING = re.compile(r"<!--|<[!?/]|<[A-Za-z]")
_VALUE = r"\"[^\"]*+\"|'[^']*+'|[^\s\"'>][^\s>]*+|(?=>|\Z)"
# as Go's tokenizer reads them. The patterns never backtrack: a hostile page could make that take hours
_PAIR = rf"(=[^\s/=>]*+|[^\s/=>]++)(?:\s*+=\s*+({_VALUE})|(?!\s*+=))"
_ATTRIBUTE = re.compile(_PAIR)
_TAG = re.compile(rf"<([A-Za-z][^\s/>]*+)((?:[\s/]++|{_PAIR})*+)>")
_BYTES = "surrogateescape"  # the error handler that keeps bytes that are not UTF-8
_DEFLATE = -zlib.MAX_WBITS
_GZIP = zlib.MAX_WBITS | 16


class PageTooLarge(Exception):
    """A page is not rewritten: it is too large."""


class PageUnreadable(Exception):
    """A page is not in its Content-Encoding, or a Location is not a URL; the message is Go's."""


@dataclass(frozen=True, slots=True)
class Links:
    """Rewrites the links of a proxied server, which clients reach below the path `prefix`.

    `host` is the host of that server, `asked` the client's Host header. With a `scheme`, as for extension API servers,
    links lead to `host` itself.
    """

    prefix: str
    host: str
    asked: str
    scheme: str = ""

    def rewritten(self, url: str) -> str:
        """A URL from the server, rewritten for clients. Raises Unreadable for an invalid URL."""
        if not url or url[0].isspace():  # urlsplit would take spaces off
            return _quoted(url, PLAIN + "%?")
        try:
            parts = urlsplit(url)
        except ValueError:
            raise PageUnreadable(f"parse \"{url}\": missing ']' in host") from None
        if (parts.netloc and parts.netloc not in (self.host, self.asked)) or not parts.path.startswith("/"):
            return url
        if self.scheme:
            parts = parts._replace(scheme=self.scheme, netloc=self.host)
        elif parts.netloc != self.asked:
            parts = parts._replace(scheme="", netloc="")
        plain = unquote(parts.path, errors=_BYTES)
        if plain.startswith(self.prefix):
            return parts._replace(path=_quoted(parts.path, PLAIN + "%")).geturl()
        path = posixpath.normpath(f"{self.prefix}/{plain.lstrip('/')}")
        path = f"{path}/" if plain.endswith("/") and not path.endswith("/") else path
        return parts._replace(path=_quoted(path, PLAIN)).geturl()

    def page(self, body: bytes, coding: str, most: int) -> bytes:
        """A page of HTML with its links rewritten, in its `coding`: "", gzip or deflate.

        Raises Unreadable, and PageTooLarge if it decompresses to more than `most` bytes.
        """
        bits = {"gzip": _GZIP, "deflate": _DEFLATE}.get(coding, 0)
        if bits:
            unpacking = zlib.decompressobj(bits)
            try:
                body = unpacking.decompress(body, most)
            except zlib.error as error:
                raise PageUnreadable(_of_coding(coding, body, error)) from None
            if unpacking.unconsumed_tail:
                raise PageTooLarge
        text = self._html(body.decode("utf-8", _BYTES)).encode("utf-8", _BYTES)
        if not bits:
            return text
        packing = zlib.compressobj(wbits=bits)
        return packing.compress(text) + packing.flush()

    def _link(self, url: str) -> str:
        try:
            return self.rewritten(url)
        except PageUnreadable:
            return url

    def _html(self, text: str) -> str:
        """Rewrites opening tags and copies all else. An opening tag without an end is dropped with all behind it."""
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
            if tag is None:  # it has no end: Go's tokenizer drops it
                parts.append(text[at:start])
                at = len(text)
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
            key, value = found[1].lower(), found[2] or ""
            value = _unescaped(value[1:-1] if value[:1] in ("'", '"') else value)
            shown = html_escaped(self._link(value) if key in urls else value).replace('"', "&#34;")
            said.append(f' {key}="{shown}"')
        said.append("/>" if attributes.rstrip().endswith("/") else ">")
        return "".join(said)


def cleaned(path: str) -> str:
    """A path without empty and dotted segments; a slash at its end stays."""
    if not path:
        return ""
    found = posixpath.normpath("/" + path.lstrip("/"))
    return f"{found}/" if path.endswith("/") and not found.endswith("/") else found


def _quoted(path: str, safe: str) -> str:
    return quote(path, safe=safe, errors=_BYTES)


def _unescaped(value: str) -> str:
    try:
        return html.unescape(value)
    except ValueError:  # a character reference with a number of thousands of digits
        return value


def _of_coding(coding: str, body: bytes, error: zlib.error) -> str:
    if coding != "gzip":
        return "flate: corrupt input before offset 0"
    if not body.startswith(b"\x1f\x8b"):
        return "errorf making gzip reader: gzip: invalid header"
    return "gzip: invalid checksum" if "check" in str(error) else "unexpected EOF"
