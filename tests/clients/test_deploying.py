"""The chart is installed on the gateway itself: its Job's objects, and its values as the gateway accepts them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
import yaml

from apiserver_gateway.testing import ApiServer
from tests.clients.charts import CHART, EXTERNAL, FILES, GIVEN, NAME, listed, one_of, rendered
from tests.clients.command import Helm, Kubectl
from tests.forked import api_server
from tests.integration.deploy.pods import running_jobs
from tests.integration.server.client import ask


def test_a_release_keeps_its_identity(server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path) -> None:
    with running_jobs(server, tmp_path):
        notes = helm("install", "api", CHART)
        assert f"get secret {NAME}-kubeconfig" in notes
        _await_jobs(kubectl)
        made = _secrets(kubectl)
        assert set(made) == {
            f"{NAME}-{it}" for it in ("identity", "kubeconfig", "etcd-ca", "etcd-member", "etcd-client")
        }
        helm("upgrade", "api", CHART, "--set", "replicaCount=3")
        assert kubectl.get("deployment", NAME)["spec"]["replicas"] == 3
        _await_jobs(kubectl)
        assert _secrets(kubectl) == made
        helm("rollback", "api", "1")
        assert kubectl.get("deployment", NAME)["spec"]["replicas"] == 2
        _await_jobs(kubectl)
        (release,) = json.loads(helm("list", "-o", "json"))
        assert (release["revision"], release["status"]) == ("3", "deployed")
        helm("uninstall", "api")
        assert _left(kubectl) == [f"secret/{name}" for name in sorted(made)], "they outlive it, as volumes do"
        helm("install", "api", CHART, "--set", "admin.token=given,admin.server=https://api.example.org")
        _await_jobs(kubectl)
        kept = _secrets(kubectl)
    changed = {name for name in made if made[name] != kept[name]}
    assert changed == {f"{NAME}-identity", f"{NAME}-kubeconfig"}
    assert kept[f"{NAME}-identity"] == made[f"{NAME}-identity"] | {"admin-token": b"given"}
    kubeconfig = yaml.safe_load(kept[f"{NAME}-kubeconfig"]["kubeconfig"])
    assert kubeconfig["users"][0]["user"]["token"] == "given"
    cluster = kubeconfig["clusters"][0]["cluster"]
    assert b64decode(cluster["certificate-authority-data"]) == kept[f"{NAME}-identity"]["ca.crt"]
    assert cluster["server"] == "https://api.example.org"


def test_given_certificates_are_trusted_and_no_others_made(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    data = {key: b64encode(key.encode()).decode() for key in ("ca.crt", "tls.crt", "tls.key")}
    given = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "given"},
        "type": "kubernetes.io/tls",
        "data": data,
    }
    kubectl("create", "-f", "-", given=given)
    with running_jobs(server, tmp_path):
        helm("install", "api", CHART, "-f", "-", given={"certificates": GIVEN, "etcd": EXTERNAL})
        _await_jobs(kubectl)
    made = _secrets(kubectl)
    assert set(made) == {"given", f"{NAME}-identity", f"{NAME}-kubeconfig"}
    assert set(made[f"{NAME}-identity"]) == {"admin-token"}
    kubeconfig = yaml.safe_load(made[f"{NAME}-kubeconfig"]["kubeconfig"])
    assert b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]) == b"ca.crt"


def test_a_job_that_fails_is_left_to_be_looked_at(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    """A Secret with that name and no CA is not changed."""
    data = {"ca.crt": b64encode(b"none").decode(), "ca.key": b64encode(b"none").decode()}
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{NAME}-etcd-ca"}, "data": data}
    kubectl("create", "-f", "-", given=other)
    with running_jobs(server, tmp_path):
        helm("install", "api", CHART)
        _await_jobs(kubectl, "failed")
    (job,) = kubectl.get("jobs")["items"]  # it is kept for inspection
    assert "the content of a Secret cannot be used" in job["status"]["conditions"][-1]["message"]


def _await_jobs(kubectl: Kubectl, end: str = "complete") -> None:
    kubectl("wait", f"--for=condition={end}", "job", "--all", "--timeout=120s")


def test_the_job_may_make_secrets_and_read_and_change_its_own(helm: Helm, kubectl: Kubectl) -> None:
    kinds = ("ServiceAccount", "Role", "RoleBinding")
    kubectl("create", "-f", "-", given=listed([each for each in rendered(helm, {}) if each["kind"] in kinds]))
    account = f"--as=system:serviceaccount:{kubectl.namespace}:{NAME}-secrets"
    for verb, what, allowed in (
        ("create", "secrets", True),
        ("update", f"secrets/{NAME}-identity", True),
        ("get", "secrets", False),
        ("get", "secrets/other", False),
        ("delete", f"secrets/{NAME}-identity", False),
        ("get", "pods", False),
    ):
        assert kubectl.run("auth", "can-i", verb, what, account).returncode == (0 if allowed else 1), (verb, what)


def test_configuration_files_are_what_the_gateway_takes(helm: Helm, tmp_path: Path) -> None:
    """Each given configuration file is mounted where a flag names it, and the server starts with all of them."""
    objects = rendered(helm, FILES)
    pod = one_of(objects, "Deployment")["spec"]["template"]["spec"]
    mounts = {each["mountPath"]: each["name"] for each in pod["containers"][0]["volumeMounts"]}
    assert {"/etc/apiserver-gateway/configuration", "/etc/apiserver-gateway/encryption"} <= set(mounts)
    held = one_of(objects, "ConfigMap", f"{NAME}-configuration")["data"]
    held["encryption.yaml"] = b64decode(one_of(objects, "Secret")["data"]["encryption.yaml"]).decode()
    for name, text in held.items():
        (tmp_path / name).write_text(text)
    flags = []
    for word in pod["containers"][0]["args"]:
        if re.search(r"=/etc/apiserver-gateway/(configuration|encryption)/", word):
            flag, _, path = word.partition("=")
            flags.append(f"{flag}={tmp_path / Path(path).name}")
    assert len(flags) == len(held) == 5
    with api_server(*flags, "--enable-admission-plugins=AlwaysPullImages", "--audit-log-path=-") as server:
        assert ask(server, "GET", "/api/v1/namespaces").status == 200


def test_who_scrapes_may_read_metrics_and_nothing_else(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    """The Job puts a token into the Secret of the ServiceMonitor: not the administrator's."""
    values = {"monitoring": {"serviceMonitor": {"enabled": True}}, "etcd": EXTERNAL}
    objects = rendered(helm, values)
    credentials = one_of(objects, "ServiceMonitor")["spec"]["endpoints"][0]["authorization"]["credentials"]
    assert credentials == {"name": f"{NAME}-metrics", "key": "token"}
    with running_jobs(server, tmp_path):
        others = [each for each in objects if each["kind"] in ("ServiceAccount", "Role", "RoleBinding", "Job")]
        kubectl("create", "-f", "-", given=listed(others))
        _await_jobs(kubectl)
    made = _secrets(kubectl)[f"{NAME}-metrics"]
    tokens = tmp_path / "tokens.csv"
    tokens.write_bytes(made["tokens.csv"])
    with api_server(f"--token-auth-file={tokens}") as gateway:
        token = made["token"].decode()
        assert ask(gateway, "GET", "/metrics", token=token).status == 200
        assert ask(gateway, "GET", "/api/v1/secrets", token=token).status == 403
    refused = helm.run("template", "api", CHART, "-f", "-", given={**values, "flags": {"token-auth-file": "/x"}})
    assert "monitoring.serviceMonitor.tokenSecretName: name a Secret" in refused.stderr


def test_a_bundled_etcd_keeps_the_number_of_members_that_it_was_made_with(
    server: ApiServer, helm: Helm, kubectl: Kubectl, tmp_path: Path
) -> None:
    """Additional members would form a second quorum, without data: no way to install the chart starts them."""
    one, three = ("--set", "etcd.replicaCount=1"), ("--set", "etcd.replicaCount=3")
    refusal = "was made with 1 members, and their number cannot be changed; set it to 1"
    with running_jobs(server, tmp_path):
        helm("install", "api", CHART, *one)
        assert refusal in helm.run("upgrade", "api", CHART, *three).stderr, "of what the StatefulSet says"
        _await_jobs(kubectl)
        kubectl("scale", "statefulset", f"{NAME}-etcd", "--replicas=0")
        assert refusal in helm.run("upgrade", "api", CHART, *three).stderr
        helm("upgrade", "api", CHART, *one)
        _await_jobs(kubectl)
        helm("uninstall", "api")
        assert refusal in helm.run("install", "api", CHART, *three).stderr, "of what the Secret says, which stays"
    applied = [each for each in yaml.safe_load_all(helm("template", "api", CHART, *three)) if each]
    with running_jobs(server, tmp_path):
        kinds = ("ServiceAccount", "Role", "RoleBinding", "Job")
        kubectl("create", "-f", "-", given=listed([each for each in applied if each["kind"] in kinds]))
        _await_jobs(kubectl, "failed")
    assert "was created with 1 members, not 3" in json.dumps(kubectl.get("jobs"))
    count, _ = one_of(applied, "StatefulSet")["spec"]["template"]["spec"]["initContainers"]
    (tmp_path / "members").write_bytes(_secrets(kubectl)[f"{NAME}-etcd-member"]["members"])
    script = [word.replace("/etc/etcd/tls", str(tmp_path)) for word in count["command"]]
    (wanted,) = count["env"]
    for number, status in ((wanted["value"], 1), ("1", 0)):
        done = subprocess.run(script, env={**os.environ, "WANTED": number}, capture_output=True, text=True)
        assert done.returncode == status and ("set it back to 1" in done.stderr) == bool(status)


@pytest.mark.parametrize("length", [1, 20, 21, 25, 26, 53])
def test_names_are_as_short_as_kubernetes_wants(helm: Helm, length: int) -> None:
    """A CronJob's name has at most 52 characters, because its Jobs' names are longer."""
    longest = {"CronJob": 52, "StatefulSet": 52}
    words = ("template", "r" * length, CHART, "--set", "etcd.snapshots.enabled=true")
    objects = [each for each in yaml.safe_load_all(helm(*words)) if each]
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert [each for each in names if len(each[1]) > longest.get(each[0], 63)] == []
    assert len(set(names)) == len(names), "and none is another's"


def test_what_is_applied_again_with_another_image_is_another_job(helm: Helm, kubectl: Kubectl) -> None:
    """A Job is immutable, and tools that apply rendered manifests know no release revisions."""

    def applied(tag: str) -> str:
        objects = rendered(helm, {"image": {"tag": tag}})
        job = one_of(objects, "Job")
        kubectl("apply", "--server-side", "-f", "-", given=listed([job]))
        return str(job["metadata"]["name"])

    assert applied("1") == applied("1") != applied("2")


def _left(kubectl: Kubectl) -> list[str]:
    kinds = "deployments,statefulsets,services,secrets,configmaps,cronjobs,poddisruptionbudgets,serviceaccounts"
    kinds += ",jobs,roles,rolebindings"
    return [name for name in kubectl.names(kinds) if name != "serviceaccount/default"]


def _secrets(kubectl: Kubectl) -> dict[str, dict[str, bytes]]:
    """The data of all Secrets except helm's own."""
    return {
        each["metadata"]["name"]: {key: b64decode(text) for key, text in each["data"].items()}
        for each in kubectl.get("secrets")["items"]
        if each["type"] != "helm.sh/release.v1"
    }
