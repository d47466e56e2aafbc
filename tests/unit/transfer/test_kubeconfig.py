"""A kubeconfig is found and read as kubectl does."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from gateway.transfer.kubeconfig import NoCluster, find_place


def config(name: str, server: str, user: dict[str, object] | None = None) -> str:
    return json.dumps(
        {
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": server}}],
            "users": [{"name": name, "user": user or {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
    )


def test_several_files_are_one(tmp_path: Path) -> None:
    (one := tmp_path / "one").write_text(config("a", "http://a:1"))
    (two := tmp_path / "two").write_text(config("b", "http://b:2", {"token": "t"}))
    environment = {"KUBECONFIG": f"{one}{os.pathsep}{tmp_path}/none{os.pathsep}{two}"}
    assert find_place(None, "", environment).url == "http://a:1/"
    found = find_place(None, "b", environment)
    assert found.url == "http://b:2/" and found.headers().count((b"authorization", b"Bearer t")) == 1
    assert find_place(two, "", environment).url == "http://b:2/"


def test_files_are_named_from_where_the_kubeconfig_is(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    (path := tmp_path / "config").write_text(config("a", "http://a:1", {"tokenFile": "token"}))
    assert find_place(path, "", {}).headers().count((b"authorization", b"Bearer t")) == 1


def test_a_program_may_know_the_credentials(tmp_path: Path) -> None:
    code = (
        "import json, os; assert json.loads(os.environ['KUBERNETES_EXEC_INFO'])['kind'] == 'ExecCredential'; "
        "print(json.dumps({'status': {'token': os.environ['WHAT']}}))"
    )
    user = {"exec": {"command": sys.executable, "args": ["-c", code], "env": [{"name": "WHAT", "value": "t"}]}}
    (path := tmp_path / "config").write_text(config("a", "http://a:1", user))
    assert find_place(path, "", dict(os.environ)).headers().count((b"authorization", b"Bearer t")) == 1


@pytest.mark.parametrize(
    ("text", "context", "said"),
    [
        (None, "", "cannot read .*: No such file"),
        ("[]", "", "not a kubeconfig"),
        (config("a", "http://a:1"), "b", "it has no context 'b'"),
        (config("a", "a:1"), "", "names no server"),
        (config("a", "http://a:1", {"exec": {"command": "false"}}), "", "false gave no credentials"),
        (config("a", "http://a:1", {"exec": {"command": "true"}}), "", "true printed no ExecCredential"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str | None, context: str, said: str) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    with pytest.raises(NoCluster, match=said):
        find_place(path, context, dict(os.environ))
