"""Links in proxied answers, as kube-apiserver 1.36 rewrites them."""

from __future__ import annotations

import gzip
import time

import pytest

from gateway.forwarding.links import Links, PageTooLarge, PageUnreadable
from tests.limits import at_most_cpu

LINKS = Links("/api/v1/namespaces/n/pods/p/proxy", "10.0.0.1:80", "gateway:6443")
PREFIX = LINKS.prefix


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("/a?b=c#d", f"{PREFIX}/a?b=c#d"),
        ("/a/", f"{PREFIX}/a/"),
        ("/", f"{PREFIX}/"),
        ("a/b", "a/b"),
        ("../a", "../a"),
        ("http://10.0.0.1:80/y", f"{PREFIX}/y"),
        ("https://example.com/x", "https://example.com/x"),
        ("https://gateway:6443/x", f"https://gateway:6443{PREFIX}/x"),
        (f"{PREFIX}/already", f"{PREFIX}/already"),
        ("/a b/%2Fc/\u00e9?\u00fc", f"{PREFIX}/a%20b/c/%C3%A9?\u00fc"),
        (" /a", "%20/a"),
    ],
)
def test_only_links_to_the_server_itself_change(url: str, found: str) -> None:
    assert LINKS.rewritten(url) == found


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ('<A HREF="/x">/x</A>', f'<a href="{PREFIX}/x">/x</A>'),
        ("<img src='/i' alt=/i>", f'<img src="{PREFIX}/i" alt="/i">'),
        ('<br/><p title="/x">', '<br/><p title="/x">'),
        ("<!-- <a href='/x'> -->", "<!-- <a href='/x'> -->"),
        (
            '<script src="/s">if (a<b) "<a href=/x>"</script>',
            f'<script src="{PREFIX}/s">if (a<b) "<a href=/x>"</script>',
        ),
        ('a<a href="/x"', "a"),
        ('<a title="a &amp; b" href="/x">', f'<a title="a &amp; b" href="{PREFIX}/x">'),
        ("<p it's><a href='/x'>", f'<p it\'s=""><a href="{PREFIX}/x">'),
        ("<a x= ><a href=/x/y>", f'<a x=""><a href="{PREFIX}/x/y">'),
    ],
)
def test_opening_tags_have_their_links_rewritten(page: str, found: str) -> None:
    assert LINKS.page(page.encode(), "", 1000).decode() == found
    assert gzip.decompress(LINKS.page(gzip.compress(page.encode()), "gzip", 1000)).decode() == found


def test_bytes_that_are_no_utf_8_stay_what_they_are() -> None:
    page = b'<a href="/caf\xe9?\xe9">\xe9</a>'
    assert LINKS.page(page, "", 1000) == f'<a href="{PREFIX}/caf%E9?'.encode() + b'\xe9">\xe9</a>'
    assert LINKS.rewritten("/caf%E9") == f"{PREFIX}/caf%E9"


def test_a_reference_by_a_number_without_end_is_none() -> None:
    number = "9" * 5000
    page = f"<a href=/x title='&#{number};'>".encode()
    assert LINKS.page(page, "", 1 << 20).decode() == f'<a href="{PREFIX}/x" title="&amp;#{number};">'


@pytest.mark.parametrize("broken", ["<" + "a" * 20_000, "<a" + '"a' * 20_000, "<a" + " a='" * 20_000])
def test_a_tag_that_is_never_closed_takes_no_time(broken: str) -> None:
    began = time.thread_time()
    assert LINKS.page(b"a" + broken.encode(), "", 1 << 20) == b"a"
    at_most_cpu(time.thread_time() - began, 1)


def test_what_unpacks_to_too_much_is_left_alone() -> None:
    with pytest.raises(PageTooLarge):
        LINKS.page(gzip.compress(bytes(1 << 20)), "gzip", 1000)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (b"no gzip", "errorf making gzip reader: gzip: invalid header"),
        (gzip.compress(b"<p>", mtime=0)[:-8] + bytes(8), "gzip: invalid checksum"),
    ],
)
def test_what_is_not_in_its_coding_is_told(page: bytes, said: str) -> None:
    with pytest.raises(PageUnreadable, match=said):
        LINKS.page(page, "gzip", 1000)
    with pytest.raises(PageUnreadable, match="missing ']' in host"):
        LINKS.rewritten("http://[broken")


def test_links_of_an_extension_server_lead_to_itself() -> None:
    links = Links("", "10.0.0.1:80", "10.0.0.1:80", "https")
    assert links.rewritten("/a?b") == "https://10.0.0.1:80/a?b"
    assert links.rewritten("a") == "a"


@pytest.mark.parametrize("piece", ['<a "', "<a '", "<!--", "<script>", "<a <a ", "< "])
def test_time_grows_with_the_length_alone(piece: str) -> None:
    page = piece.encode() * 200_000
    began = time.thread_time()
    LINKS.page(page, "", 1 << 20)
    at_most_cpu(time.thread_time() - began, 5)
