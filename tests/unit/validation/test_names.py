"""Names, formats and addresses: which are valid, and the messages for others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.validation.addresses import cidr_warnings, ip_warnings, validate_cidr, validate_ip, validate_ip_legacy
from gateway.validation.formats import (
    is_config_map_key,
    is_percent,
    is_port_name,
    is_relaxed_env_var_name,
    validate_domain_prefixed_path,
)
from gateway.validation.names import (
    is_dns1035_label,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_label_value,
    is_qualified_name,
    name_is_dns_label,
    name_is_dns_subdomain,
)


@pytest.mark.parametrize("name", ["a", "a-1", "0", "a" * 63])
def test_label_is_valid(name: str) -> None:
    assert is_dns1123_label(name) == ()


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("a.b", ["must not contain dots"]),
        ("a" * 64, ["must be no more than 63 characters"]),
        (
            "A",
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
                "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ],
        ),
    ],
)
def test_label_messages(name: str, messages: list[str]) -> None:
    assert list(is_dns1123_label(name)) == messages


def test_a_trailing_newline_is_not_valid() -> None:
    assert is_dns1123_label("a\n")
    assert is_dns1123_subdomain("a.b\n")
    assert is_label_value("a\n")


def test_lengths_are_of_the_utf8_encoding() -> None:
    assert is_dns1123_label("ü" * 32)[0] == "must be no more than 63 characters"
    assert len(is_dns1123_label("ü" * 31)) == 1


def test_dns1035_labels_start_with_a_letter() -> None:
    assert is_dns1035_label("a1") == ()
    assert is_dns1035_label("1a")


def test_a_generated_name_may_end_in_a_dash() -> None:
    assert name_is_dns_subdomain("web-", True) == ()
    assert name_is_dns_subdomain("web-", False)


@pytest.mark.parametrize("key", ["a", "example.com/a", "A_b.c", "1"])
def test_qualified_name_is_valid(key: str) -> None:
    assert is_qualified_name(key) == ()


@pytest.mark.parametrize(
    ("key", "start"),
    [
        ("", "name part must be non-empty"),
        ("/a", "prefix part must be non-empty"),
        ("Bad_/a", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ("a/b/c", "a valid label key must consist of alphanumeric characters"),
        ("a" * 64, "name part must be no more than 63 bytes"),
        ("-a", "name part must consist of alphanumeric characters"),
    ],
)
def test_qualified_name_messages(key: str, start: str) -> None:
    assert is_qualified_name(key)[0].startswith(start)


def test_port_names() -> None:
    assert is_port_name("http-2") == ()
    assert is_port_name("80") == ("must contain at least one letter (a-z)",)
    assert is_port_name("a--b-") == ("must not contain consecutive hyphens", "must not begin or end with a hyphen")


def test_other_formats() -> None:
    assert is_percent("5%") == () and is_percent("-5%") and is_percent("5")
    assert is_relaxed_env_var_name("1 a") == () and is_relaxed_env_var_name("a=b") and is_relaxed_env_var_name("ü")
    assert is_config_map_key("a.b") == () and is_config_map_key("..a") == ("must not start with '..'",)


def test_domain_prefixed_paths() -> None:
    assert validate_domain_prefixed_path("p", "example.com/a/b") == []
    assert [e.body for e in validate_domain_prefixed_path("p", "a")] == [
        'Invalid value: "a": must be a domain-prefixed path (such as "acme.io/foo")'
    ]


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("10.0.0.1", ""),
        ("2001:db8::1", ""),
        ("10.0.0.01", "must not have leading 0s"),
        ("::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"),
        ("10.0.0.300", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ("fe80::1%eth0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_addresses(address: str, detail: str) -> None:
    found = validate_ip_legacy("ip", address)
    assert [error.body for error in found] == ([f'Invalid value: "{address}": {detail}'] if detail else [])


def test_addresses_that_an_object_has_already_stay_valid() -> None:
    assert validate_ip_legacy("ip", "010.0.0.1", ("010.0.0.1",)) == []


def test_canonical_forms() -> None:
    assert [e.body for e in validate_ip("ip", "2001:DB8::1")] == [
        'Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")'
    ]
    assert validate_cidr("cidr", "10.0.0.0/8") == []
    assert "beyond the prefix length" in validate_cidr("cidr", "10.0.0.1/8")[0].body
    assert ip_warnings("ip", "2001:DB8::1") == [
        'ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'
    ]
    assert cidr_warnings("c", "10.0.0.1/8") == [
        'c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ]


@given(st.text("aA1-.\n", max_size=6), st.sampled_from(["", "a" * 58, "a" * 62, "a" * 63, "a" * 250, "a" * 253]))
def test_the_rules_of_names_are_those_of_their_formats(end: str, beginning: str) -> None:
    name = beginning + end
    assert name_is_dns_subdomain(name, False) == is_dns1123_subdomain(name)
    assert name_is_dns_label(name, False) == is_dns1123_label(name)
