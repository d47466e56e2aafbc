"""Links in proxied answers, as kube-apiserver 1.36 rewrites them."""

from __future__ import annotations

import gzip
import time

import pytest

from gateway.proxies.links import Links, TooLarge

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
        ("http://[broken", "http://[broken"),
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
        ('<a href="/x"', '<a href="/x"'),
        ('<a title="a &amp; b" href="/x">', f'<a title="a &amp; b" href="{PREFIX}/x">'),
    ],
)
def test_opening_tags_have_their_links_rewritten(page: str, found: str) -> None:
    assert LINKS.page(page.encode(), "", 1000).decode() == found
    assert gzip.decompress(LINKS.page(gzip.compress(page.encode()), "gzip", 1000)).decode() == found


def test_what_unpacks_to_too_much_is_left_alone() -> None:
    with pytest.raises(TooLarge):
        LINKS.page(gzip.compress(bytes(1 << 20)), "gzip", 1000)
    with pytest.raises(TooLarge):
        LINKS.page(b"no gzip", "gzip", 1000)


@pytest.mark.parametrize("piece", ['<a "', "<a '", "<!--", "<script>", "<a <a ", "< "])
def test_time_grows_with_the_length_alone(piece: str) -> None:
    page = piece.encode() * 200_000
    began = time.process_time()
    LINKS.page(page, "", 1 << 20)
    assert time.process_time() - began < 5
