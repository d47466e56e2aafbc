"""The Accept header decides on the representation, by kube-apiserver's two rules."""

import pytest

from gateway.http.negotiation import STANDARD, WITH_CBOR, is_human, pretty_parameter
from gateway.http.status import StatusError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/json;charset=utf-8", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/yaml, application/json", "application/yaml"),
        ("application/json;q=0.4, application/yaml;q=0.9", "application/yaml"),
        ("application/json;q=0", "application/json"),
        ("application/yaml;q=high, application/json", "application/json"),
        ("text/html, application/xml;q=0.9, application/yaml;q=0.5, */*;q=0.1", "application/yaml"),
        ("application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf"),
        (f"{TABLE},{TABLE.replace('v1', 'v1beta1')},application/json", "application/json"),
    ],
)
def test_the_best_clause_that_can_be_honoured_wins(accept: str, content_type: str) -> None:
    assert STANDARD.negotiate(accept.encode(), "get").content_type == content_type.encode()


@pytest.mark.parametrize("accept", ["text/html", "application/*", "Application/JSON", "image/png, text/*"])
def test_no_literal_media_type_is_not_acceptable(accept: str) -> None:
    with pytest.raises(StatusError, match="406: Not Acceptable") as caught:
        STANDARD.negotiate(accept.encode(), "get")
    assert (caught.value.code, caught.value.details) == (406, {})
    assert "stream=watch" not in caught.value.message


def test_collections_advertise_their_streams_too() -> None:
    with pytest.raises(StatusError, match="application/json;stream=watch"):
        STANDARD.negotiate(b"text/html", "list")


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Chair;g=meta.k8s.io;v=v1",
        "application/json;g=meta.k8s.io;v=v1",
        "application/json;as=Table",
        "application/json;sv=v2",
        "application/yaml;stream=watch",
    ],
)
def test_parameters_that_cannot_be_honoured_are_not_acceptable(accept: str) -> None:
    with pytest.raises(StatusError, match="only the following media types are accepted: application/json, ") as caught:
        STANDARD.negotiate(accept.encode(), "get")
    assert (caught.value.code, caught.value.details) == (406, None)


def test_a_watch_needs_a_format_that_streams() -> None:
    assert STANDARD.negotiate(b"application/json;stream=watch", "watch").content_type == b"application/json"
    STANDARD.require_stream(STANDARD.negotiate(b"application/json", "watch"))
    wanted = STANDARD.negotiate(b"application/yaml", "watch")
    with pytest.raises(StatusError, match="accepted: application/json;stream=watch, "):
        STANDARD.require_stream(wanted)


@pytest.mark.parametrize("accept", ["application/json;stream=other", "application/json;as=Chair;g=meta.k8s.io;v=v1"])
def test_a_watch_is_first_negotiated_about_like_a_list(accept: str) -> None:
    with pytest.raises(StatusError, match="accepted: application/json, application/yaml, "):
        STANDARD.negotiate(accept.encode(), "watch")


def test_indentation_is_for_people_unless_the_parameter_says_otherwise() -> None:
    assert is_human(b"curl/8.0") and is_human(b"Mozilla/5.0 (X11)") and not is_human(b"kubectl/v1.36")
    assert pretty_parameter({"pretty": ["1"]}, False)
    assert not pretty_parameter({"pretty": ["false"]}, True)
    assert not pretty_parameter({"pretty": ["maybe"]}, True)
    assert pretty_parameter({"pretty": [""]}, True)
    assert STANDARD.negotiate(b"application/json;pretty=1", "get").pretty


def test_bodies_are_json_or_yaml() -> None:
    assert STANDARD.body_type(b"") == "application/json"
    assert STANDARD.body_type(b"application/yaml; charset=utf-8") == "application/yaml"
    with pytest.raises(StatusError, match="the body of the request was in an unknown format") as caught:
        STANDARD.body_type(b"text/plain")
    assert caught.value.code == 415


WELL_FORMED = ("", " ", "a=b", " a = b ", 'a="b"', 'a="b;c=d"', 'a=""', "a=b;", "a=b ; ", "a=b;A=b", "a{=b", 'a="é"')
MALFORMED = (";=", "charset", "=x", "a=", "a=b;;", "a=b;A=c", "a=b c", 'a="b', 'a="b" c', "a=b,c", "a@=b", "a=é")


@pytest.mark.parametrize("parameters", WELL_FORMED)
def test_parameters_of_a_content_type_are_those_that_go_accepts(parameters: str) -> None:
    assert STANDARD.body_type(f"application/json;{parameters}".encode()) == "application/json"


@pytest.mark.parametrize("parameters", MALFORMED)
def test_malformed_content_types_are_refused(parameters: str) -> None:
    with pytest.raises(StatusError):
        STANDARD.body_type(f"application/json;{parameters}".encode())


@pytest.mark.parametrize(
    ("accept", "media", "pretty"),
    [
        ("", "application/json", False),
        ("application/*", "application/json", False),
        ("text/html", "application/json", True),
        (TABLE, "application/json", True),
        (f"{TABLE},application/yaml", "application/yaml", False),
        ("application/yaml;sv=v1", "application/json", True),
    ],
)
def test_a_failure_is_never_another_kind(accept: str, media: str, pretty: bool) -> None:
    found = STANDARD.for_status(accept.encode())
    assert (found.media.name, found.pretty, found.transform) == (media, pretty, None)


def test_custom_kinds_have_no_messages_in_protobuf() -> None:
    protobuf = "application/vnd.kubernetes.protobuf"
    with pytest.raises(StatusError, match="only the following"):
        STANDARD.of_custom.negotiate(protobuf.encode(), "get")
    assert STANDARD.of_custom.negotiate(f"{protobuf},application/json".encode(), "get").media.name == "application/json"
    partial = f"{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert STANDARD.of_custom.negotiate(partial.encode(), "get").media.name == protobuf


def test_cbor_is_negotiated_where_it_is_served() -> None:
    assert WITH_CBOR.negotiate(b"application/cbor", "watch").content_type == b"application/cbor-seq"
    assert WITH_CBOR.negotiate(b"*/*", "get").content_type == b"application/json"
    assert WITH_CBOR.body_type(b"application/cbor") == "application/cbor"
    with pytest.raises(StatusError, match="only the following"):
        WITH_CBOR.negotiate(b"application/cbor;as=Table;v=v1;g=meta.k8s.io", "get")
    with pytest.raises(StatusError, match="application/cbor-seq"):
        WITH_CBOR.negotiate(b"text/html", "list")
