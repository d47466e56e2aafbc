"""Which EncryptionConfigurations are valid, and the error messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.encryption.configuration import read_rules
from gateway.settings.configuration_file import InvalidConfiguration

KEY = {"name": "a", "secret": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="}
SECRETBOX = {"secretbox": {"keys": [KEY]}}


def read(path: Path, *resources: Any) -> Any:
    file = path / "config"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "EncryptionConfiguration",
                "resources": [{"resources": names, "providers": providers} for names, providers in resources],
            }
        )
    )
    return read_rules(file)


def test_rules_say_which_resources_by_what(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        (["secrets", "widgets.example.com"], [SECRETBOX, {"identity": {}}]),
        (["*.*"], [{"kms": {"apiVersion": "v2", "name": "k", "endpoint": "unix:///run/kms.sock", "timeout": "5s"}}]),
    )
    assert first.places == (("", "secrets"), ("example.com", "widgets"))
    assert [each.kind for each in first.providers] == ["secretbox", "identity"]
    assert second.places == (("*", "*"),)
    assert (second.providers[0].kms.path, second.providers[0].kms.timeout) == ("/run/kms.sock", 5.0)
    assert "aaaa" not in repr(first)


@pytest.mark.parametrize(
    ("names", "providers", "said"),
    [
        (["Secrets"], [SECRETBOX], "capital letters"),
        (["*"], [SECRETBOX], "use '*.' to encrypt"),
        (["*.", "secrets"], [SECRETBOX], "masked"),
        (["secrets", "secrets"], [SECRETBOX], "multiple times"),
        (["secrets.*"], [SECRETBOX], "across groups"),
        (["apiserveripinfo"], [SECRETBOX], "do not have REST"),
        (["*.events.k8s.io"], [SECRETBOX], "Use 'events' instead"),
        (["secrets"], [], "at least one"),
        ([], [SECRETBOX], "at least one"),
        (["secrets"], [{}], "does not contain any"),
        (["secrets"], [{**SECRETBOX, "identity": {}}], "more than one provider"),
        (["secrets"], [{"aesgcm": {"keys": []}}], "at least one keys is required"),
        (["secrets"], [{"aesgcm": {"keys": [{"name": "a", "secret": "!"}]}}], "base64"),
        (["secrets"], [{"aesgcm": {"keys": [{"name": "a", "secret": "YWE="}]}}], "got 2, expected one of [16 24 32]"),
        (["secrets"], [{"kms": {"name": "k", "endpoint": "unix:///k"}}], "KMS v1 is deprecated"),
        (["secrets"], [{"kms": {"apiVersion": "v3", "name": "k", "endpoint": "unix:///k"}}], "unsupported apiVersion"),
        (["secrets"], [{"kms": {"apiVersion": "v2", "name": "a:b", "endpoint": "unix:///k"}}], "must not contain ':'"),
        (["secrets"], [{"kms": {"apiVersion": "v2", "name": "k", "endpoint": "http://k"}}], "only unix is supported"),
        (["secrets"], [{"rot13": {}}], "unknown field"),
    ],
)
def test_what_is_refused(tmp_path: Path, names: Any, providers: Any, said: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        read(tmp_path, (names, providers))
    assert said in str(caught.value)


def test_a_rule_that_an_earlier_one_hides_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match=r'"secrets" is masked by earlier rule "\*\."'):
        read(tmp_path, (["*."], [SECRETBOX]), (["secrets"], [SECRETBOX]))
