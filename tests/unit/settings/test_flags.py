"""Settings come from flags, else from environment variables; error messages say what to do."""

from pathlib import Path

import pytest

from gateway.settings.command_line import read_flags
from gateway.settings.config import InvalidSettings, Settings
from gateway.settings.flags import FLAGS, settings_from
from gateway.settings.foreign_flags import ALIASES, FIXED, REFUSED


def settings(*arguments: str, **environment: str) -> Settings:
    return settings_from(read_flags(arguments).texts, environment)


def test_flags_become_settings() -> None:
    found = settings(
        "--etcd-servers=http://a:2379,http://b:2379",
        "--secure-port=7443",
        "--anonymous-auth=false",
        "--service-node-port-range=30000-30100",
        "--disable-admission-plugins=ServiceAccount,Priority",
        "--etcd-compaction-interval=5m",
    )
    assert found.etcd_servers == ("http://a:2379", "http://b:2379")
    assert (found.secure_port, found.anonymous_auth, found.etcd_compaction_interval) == (7443, False, 300.0)
    assert found.service_node_port_range == (30000, 30100)
    assert found.disable_admission_plugins == {"ServiceAccount", "Priority"}


def test_variables_stand_in_for_flags_that_are_not_given() -> None:
    variables = {"APISERVER_GATEWAY_EMBEDDED_ETCD": "true", "APISERVER_GATEWAY_SECURE_PORT": "1"}
    assert settings(**variables).embedded_etcd
    assert settings("--secure-port=2", **variables).secure_port == 2


def test_a_boolean_flag_needs_no_value() -> None:
    assert settings("--embedded-etcd").embedded_etcd


def test_every_flag_has_a_setting() -> None:
    names = {flag.setting for flag in FLAGS}
    # no flags: those of control planes, which follow from the root's and from their credentials
    of_control_planes = {"service_account_key", "shown_prefix", "client_authority", "client_authority_key"}
    assert names == set(Settings.__dataclass_fields__) - of_control_planes


@pytest.mark.parametrize("prefix", ["/one/two", "one/two", "one/two/", "//one//two/", "/one/./two"])
def test_the_prefix_of_keys_is_cleaned_as_by_kube_apiserver(prefix: str) -> None:
    assert settings("--embedded-etcd", f"--etcd-prefix={prefix}").etcd_prefix == "/one/two"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--etcd-servers=.*or --embedded-etcd"),
        (["--embedded-etcd", "--etcd-servers=x"], "exclude each other"),
        (["--etcd-servers=x", "--data-dir=d"], "--data-dir"),
        (["--embedded-etcd", "--secure-port=x"], "--secure-port=x"),
        (["--embedded-etcd", "--workers=0"], "--workers"),
        (["--embedded-etcd", "--token-auth-file=/no/such"], "--token-auth-file: there is no file"),
        (["--embedded-etcd", "--tls-cert-file=x"], "belong together"),
        (["--embedded-etcd", "--service-cluster-ip-range=x"], "--service-cluster-ip-range"),
        (["--embedded-etcd", "--service-cluster-ip-range=10.0.0.0/16,10.1.0.0/16"], "one of IPv4 and one of IPv6"),
        (["--etcd-servers=http://a:99999"], "--etcd-servers=http://a:99999: give URLs such as"),
        (["--etcd-servers=http://:2379"], "give URLs such as"),
        (["--etcd-servers=ftp://a:2379"], "give URLs such as"),
        (["--embedded-etcd", "--service-node-port-range=5"], "range of ports"),
        (["--embedded-etcd", "--etcd-prefix=/"], "--etcd-prefix=/: give a prefix such as /registry"),
        (["--embedded-etcd", "--secure-port=99999"], "--secure-port=99999: give a port"),
        (["--embedded-etcd", "--bind-address=localhost"], "--bind-address=localhost: give an IP address"),
        (["--embedded-etcd", "--advertise-address=a b"], "--advertise-address=a b"),
        (["--embedded-etcd", "--tls-san=a.example.org,-"], "--tls-san"),
        (["--embedded-etcd", "--kubeconfig-server=http://a"], "--kubeconfig-server=http://a: give a URL"),
        (["--embedded-etcd", "--service-cluster-ip-range=10.0.0.0/32"], "at least 8 addresses"),
        (["--embedded-etcd", "--service-node-port-range=1-99999"], "range of ports"),
        (["--embedded-etcd", "--enable-admission-plugins=PodSecurty"], "no admission plug-in PodSecurty.*PodSecurity"),
        (["--embedded-etcd", "--disable-admission-plugins=x"], "--disable-admission-plugins.*no admission plug-in x"),
        (
            ["--embedded-etcd", "--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"],
            "Priority is in both",
        ),
        (["--etcd-servers=ftp://x"], "--etcd-servers=ftp://x: give URLs"),
        (["--embedded-etcd", "--service-account-max-token-expiration=59m"], "max-token-expiration: give 1h at least"),
        (["--embedded-etcd", "--authorization-mode=RBAC,RBAC"], "--authorization-mode names RBAC more than once"),
        (["--embedded-etcd", "--oidc-issuer-url=https://x"], "--oidc-issuer-url and --oidc-client-id belong together"),
        (["--embedded-etcd", "--log-format=xml"], "--log-format=xml: give text or json"),
        (["--embedded-etcd", "--admin-token=a b"], r"--admin-token=\*\*\*: give a token without"),
        (["--embedded-etcd", "--identity-key-file=/dev/null"], "--identity-key-file"),
        (["--embedded-etcd", "--tls-sni-cert-key=a.crt"], "--tls-sni-cert-key=a.crt: give CERTIFICATE,KEY"),
        (["--embedded-etcd", "--tls-sni-cert-key=a,b:"], "--tls-sni-cert-key=a,b:: give CERTIFICATE,KEY"),
        (["--embedded-etcd", "--cors-allowed-origins=example.org"], "the start and the end of the host"),
        (["--embedded-etcd", "--cors-allowed-origins=^(example.org$"], "is not a regular expression"),
        (["--embedded-etcd", "--strict-transport-security-directives=max-age"], "give max-age=SECONDS"),
        (["--embedded-etcd", "--request-timeout=0"], "--request-timeout must be more than 0"),
    ],
)
def test_what_cannot_work_is_said(arguments: list[str], message: str) -> None:
    with pytest.raises(InvalidSettings, match=message):
        settings(*arguments)


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["--audit-log-batch-buffer-size=0"], ""),  # what is not used is not looked at
        (["--audit-log-truncate-max-batch-size=10485760"], ""),
        (["--audit-log-batch-buffer-size=0", "--audit-log-mode=batch"], "--audit-log-batch-buffer-size must be more"),
        (
            ["--audit-log-mode=batch", "--audit-log-batch-throttle-enable"],
            "--audit-log-batch-throttle-qps must be more",
        ),
        (["--audit-log-truncate-max-event-size=0"], "--audit-log-truncate-max-event-size must be more"),
        (["--audit-log-truncate-max-event-size=20000000"], "--audit-log-truncate-max-batch-size must be at least"),
        (["--audit-log-version=audit.k8s.io/v1beta1"], "--audit-log-version"),
    ],
)
def test_flags_of_audit_are_looked_at_where_they_matter(arguments: list[str], refused: str) -> None:
    given = ["--etcd-servers=http://a:2379", f"--audit-policy-file={__file__}", "--audit-log-path=-", *arguments]
    if not refused:
        assert settings(*given).audit_log_maxsize == 100
        return
    with pytest.raises(InvalidSettings, match=refused):
        settings(*given)


@pytest.mark.parametrize("alone", ["--audit-log-path=-", f"--audit-policy-file={__file__}"])
def test_half_of_audit_is_refused(alone: str) -> None:
    flag = alone.partition("=")[0]
    with pytest.raises(InvalidSettings, match=f"{flag} alone records nothing: give --audit-"):
        settings("--embedded-etcd", alone)


def test_servers_are_named_with_or_without_scheme() -> None:
    assert (
        settings("--embedded-etcd", "--kubeconfig-server=api.example.org").kubeconfig_server
        == "https://api.example.org"
    )
    given = settings(
        "--embedded-etcd", "--kubeconfig-server=https://[2001:db8::1]:6443/", "--tls-san=A.example.org,::1"
    )
    assert (given.kubeconfig_server, given.tls_san) == ("https://[2001:db8::1]:6443", ("a.example.org", "::1"))


def test_paths_are_paths(tmp_path: Path) -> None:
    assert settings("--embedded-etcd", f"--data-dir={tmp_path}").data_dir == tmp_path


UPSTREAM = [
    line.split()[0]
    for line in Path(__file__).with_name("kube-apiserver.flags").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def test_each_flag_of_kube_apiserver_is_taken_or_refused_with_a_reason() -> None:
    ours = {flag.name for flag in FLAGS}
    answered = ours | ALIASES.keys() | FIXED.keys() | REFUSED.keys() | {"help", "version"}
    assert not set(UPSTREAM) - answered
    assert not (ALIASES.keys() | FIXED.keys() | REFUSED.keys()) - set(UPSTREAM)
    assert not ours & (ALIASES.keys() | FIXED.keys() | REFUSED.keys())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--watch-cache=false"], "--watch-cache can only be true here: "),
        (["--storage-backend", "etcd2"], "--storage-backend can only be etcd3"),
        (["--http2_max_streams_per_connection", "5"], "this server speaks HTTP/1.1 only"),
    ],
)
def test_flags_that_are_not_here_are_refused_with_a_reason(arguments: list[str], message: str) -> None:
    with pytest.raises(InvalidSettings, match=message):
        settings("--embedded-etcd", *arguments)


def test_flags_of_kube_apiserver_may_say_what_is_so_anyway() -> None:
    said = ("--watch-cache", "--storage-backend=etcd3", "--logging-format=json", "-v3", "--vmodule=feed=4")
    found = settings("--embedded-etcd", *said)
    assert (found.log_format, found.v, found.vmodule) == ("json", 3, (("feed", 4),))
    assert settings("--embedded-etcd", "-v", "4").v == settings("--embedded-etcd", "-v=4").v == 4
