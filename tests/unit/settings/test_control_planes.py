"""A control plane has no credential of the root: each setting of the root that may hold one is replaced."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.control_planes import ClusterCredentials, check_beside, settings_of
from gateway.settings.etcd_overrides import etcd_overrides
from gateway.settings.flags import settings_from

KEPT = frozenset({
    # of etcd: the client is shared, and no request sees them
    "etcd_cafile", "etcd_certfile", "etcd_keyfile", "data_dir",
    # refused together with --control-planes
    "audit_policy_file", "audit_webhook_config_file", "encryption_provider_config",
    # written by the start of the process only
    "kubeconfig_out",
})  # fmt: skip


OWN = ClusterCredentials("token", "key", "authority", "its key")


def test_no_file_of_the_root_is_read_but_its_authority() -> None:
    files = [each.name for each in fields(Settings) if str(each.type) == "Path | None" and each.name not in KEPT]
    root = Settings(**{name: Path(f"/root/{name}") for name in files}, cert_dir=Path("/root"))  # type: ignore[arg-type]
    made = settings_of(root, "a", "uid", "https://h/clusters/a", OWN)
    assert {name: value for name in files if (value := getattr(made, name)) is not None} == {
        "tls_cert_file": Path("/root/tls_cert_file")
    }
    assert made.cert_dir == Path("/root/control-planes")
    assert not made.service_account_key_file


def test_it_has_its_own_names_and_keys() -> None:
    root = Settings(admin_token="of the root", service_account_issuer=("https://k",), api_audiences=("a",))
    made = settings_of(root, "a", "uid", "https://h/clusters/a", OWN)
    assert (made.admin_token, made.service_account_key) == ("token", "key")
    assert (made.client_authority, made.client_authority_key) == ("authority", "its key")
    assert made.service_account_issuer == ("https://k/clusters/a/uid",)
    assert made.api_audiences == ()
    assert made.etcd_prefix == "/registry-clusters/uid"
    assert made.service_account_jwks_uri == "https://h/clusters/a/openid/v1/jwks"


def test_it_has_a_testing_api_if_the_root_has() -> None:
    for root in (Settings(testing_api=True, recorder=True), Settings(recorder=True)):
        made = settings_of(root, "a", "uid", "https://h/clusters/a", OWN)
        assert (made.testing_api, made.recorder) == (root.testing_api, False)


@pytest.mark.parametrize(
    ("flag", "settings"),
    [
        ("--etcd-servers-overrides", Settings(etcd_servers_overrides=etcd_overrides("/events#http://etcd:2379"))),
        ("--encryption-provider-config", Settings(encryption_provider_config=Path("e"))),
    ],
)
def test_what_does_not_go_with_control_planes_is_refused(flag: str, settings: Settings) -> None:
    with pytest.raises(InvalidSettings, match=f"--control-planes does not go with {flag} yet"):
        check_beside(settings)


@pytest.mark.parametrize(("flag", "value"), [("reach", "127.0.0.0/8"), ("domain", "planes.example"), ("metrics", "9")])
def test_flags_of_control_planes_need_control_planes(flag: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"--control-planes-{flag} needs --control-planes"):
        settings_from({f"control-planes-{flag}": value, "embedded-etcd": "true"}, {})


@pytest.mark.parametrize("domain", ["*.example", "10.0.0.1", "::1", "a..b", "-a.example", ".".join(["a" * 60] * 4)])
def test_a_domain_of_control_planes_is_one_of_names(domain: str) -> None:
    with pytest.raises(InvalidSettings, match="--control-planes-domain"):
        settings_from({"control-planes-domain": domain, "control-planes": "true", "embedded-etcd": "true"}, {})


@pytest.mark.parametrize("name", ["k8s.planes.example", "K8S.Planes.example"])
def test_no_control_plane_can_take_the_name_of_the_server(name: str) -> None:
    flags = {"control-planes-domain": "planes.example", "control-planes": "true", "embedded-etcd": "true"}
    with pytest.raises(InvalidSettings, match="is a name of this server"):
        settings_from({**flags, "kubeconfig-server": f"https://{name}:6443"}, {})
    assert settings_from({**flags, "kubeconfig-server": "https://k8s.example:6443"}, {}).control_planes_domain
