"""--etcd-servers-overrides has kube-apiserver's syntax and error messages."""

from __future__ import annotations

import pytest

from gateway.settings.etcd_overrides import EtcdOverride, etcd_overrides


def test_resources_have_servers() -> None:
    found = etcd_overrides("/events#http://a:1;http://b:2, apps/deployments#https://c:3")
    assert found == (
        EtcdOverride("", "events", ("http://a:1", "http://b:2")),
        EtcdOverride("apps", "deployments", ("https://c:3",)),
    )
    assert etcd_overrides(",".join(map(str, found))) == found


@pytest.mark.parametrize(
    "text",
    [
        "events#http://a:1",
        "/events",
        "/events#",
        "/events#http://a:1;",
        "/events#http://a:1#b",
        "a/b/events#http://a:1",
    ],
)
def test_what_has_another_form_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"^invalid, must be of format: group/resource#servers, where servers are URLs, "
    ):
        etcd_overrides(text)


def test_servers_are_urls() -> None:
    with pytest.raises(ValueError, match="give URLs such as"):
        etcd_overrides("/events#http://a b")
