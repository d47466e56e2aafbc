"""Writes the Helm chart's README.md and values.schema.json from its values.yaml: `hack/chart.py [--check]`.

Each value's comment `# -- TEXT` becomes its description. Types are those of the defaults, except for what RULES says;
an object or list that is empty by default takes anything that is one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from gateway.settings.flags import GROUPS  # noqa: E402

CHART = ROOT / "deploy" / "helm" / "apiserver-gateway"

# flags that have a value of their own, or a mounted place
OWN = {
    "cert-dir",
    "controllers",
    "disable-admission-plugins",
    "enable-admission-plugins",
    "etcd-prefix",
    "etcd-servers",
}
OWN |= {"secure-port", "workers"}
FLAGS = sorted({flag.name for _, flags in GROUPS for flag in flags} - OWN)

_SCHEDULE = {"pattern": r"^(@\w+|\S+( \S+){4})$"}
_QUANTITY = {"pattern": r"^[0-9.]+([KMGTP]i?)?$"}
_DIGEST = {"pattern": "^(sha256:[0-9a-f]{64})?$"}
_PORT = {"minimum": 1, "maximum": 65535}


def _file(version: str, kind: str) -> dict[str, Any]:
    """An object of a kind, in any version of its group from `version` on, or none."""
    group = version.partition("/")[0].replace(".", r"\.")
    kinds = {"apiVersion": {"pattern": f"^{group}/v1"}, "kind": {"const": kind}}
    return {"anyOf": [{"maxProperties": 0}, {"required": list(kinds), "properties": kinds}]}


RULES: dict[str, dict[str, Any]] = {
    "replicaCount": {"minimum": 0},
    "workers": {"minimum": 1, "maximum": 999},
    "kubernetesVersion": {"pattern": r"^v?1\.[0-9]+(\.[0-9]+)?$"},
    "image.digest": _DIGEST,
    "etcd.image.digest": _DIGEST,
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "etcd.image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "imagePullSecrets": {"items": {"type": "object", "required": ["name"]}},
    "flags": {"propertyNames": {"enum": FLAGS}, "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "env": {"items": {"type": "object", "required": ["name"]}},
    "extraEnv": {"items": {"type": "object", "required": ["name"]}},
    "extraVolumes": {"items": {"type": "object", "required": ["name"]}},
    "extraVolumeMounts": {"items": {"type": "object", "required": ["name", "mountPath"]}},
    "initContainers": {"items": {"type": "object", "required": ["name", "image"]}},
    "audit.policy": _file("audit.k8s.io/v1", "Policy"),
    "audit.logPath": {"minLength": 1},
    "encryption.configuration": _file("apiserver.config.k8s.io/v1", "EncryptionConfiguration"),
    "authentication.configuration": _file("apiserver.config.k8s.io/v1", "AuthenticationConfiguration"),
    "authorization.configuration": _file("apiserver.config.k8s.io/v1", "AuthorizationConfiguration"),
    "admission.configuration": _file("apiserver.config.k8s.io/v1", "AdmissionConfiguration"),
    "admission.enablePlugins": {"items": {"type": "string"}},
    "controllers": {"items": {"type": "string"}},
    "disableAdmissionPlugins": {"items": {"type": "string"}},
    "certificates.mode": {"enum": ["generated", "certManager", "secret"]},
    "certificates.names": {"items": {"type": "string"}},
    "certificates.days": {"minimum": 1},
    "certificates.issuerRef": {"additionalProperties": {"type": "string"}},
    "admin.server": {"pattern": "^(https://.+)?$"},
    "admin.token": {"pattern": r"^[!-~]*$"},
    "etcd.mode": {"enum": ["bundled", "external"]},
    "etcd.prefix": {"pattern": "^/.*[^/]$"},
    "etcd.external.endpoints": {"items": {"type": "string", "pattern": "^https?://.+"}},
    "etcd.replicaCount": {"enum": [1, 3, 5]},
    "etcd.quotaBackendBytes": {"minimum": 0},
    "etcd.storage.size": _QUANTITY,
    "etcd.snapshots.size": _QUANTITY,
    "etcd.snapshots.keep": {"minimum": 1},
    "etcd.snapshots.schedule": _SCHEDULE,
    "etcd.defragmentation.schedule": _SCHEDULE,
    "etcd.restore.snapshot": {"pattern": "^([^/.][^/]*)?$"},
    "etcd.restore.member": {"minimum": 0, "maximum": 4},
    "service.type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "service.port": _PORT,
    "service.nodePort": {"type": ["integer", "null"], **_PORT},
    "service.loadBalancerSourceRanges": {"items": {"type": "string"}},
    "tlsRoute.hostnames": {"items": {"type": "string"}},
    "podAntiAffinity": {"enum": ["soft", "hard", "none"]},
    "preStopSeconds": {"minimum": 0},
    "terminationGracePeriodSeconds": {"minimum": 1},
}

OPEN = {"resources", "etcd.resources", "ingress.annotations", "certificates.issuerRef"}  # take more than the defaults

# What has to be given together: the condition, and what it asks for.
CONDITIONS = (
    ({"certificates": {"mode": "secret"}}, {"certificates": {"secretName": {"minLength": 1}}}),
    (
        {"certificates": {"mode": "certManager"}},
        {"certificates": {"issuerRef": {"properties": {"name": {"minLength": 1}}}}},
    ),
    ({"etcd": {"mode": "external"}}, {"etcd": {"external": {"properties": {"endpoints": {"minItems": 1}}}}}),
    ({"ingress": {"enabled": True}}, {"ingress": {"host": {"minLength": 1}}}),
    ({"tlsRoute": {"enabled": True}}, {"tlsRoute": {"parentRefs": {"minItems": 1}, "hostnames": {"minItems": 1}}}),
)

_TYPES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object", type(None): "null"}
_README = """\
# apiserver-gateway

The gateway, a Kubernetes API server in Python, and an etcd for it. It runs in any Kubernetes of 1.30 or later, and has
nothing to do with that cluster's own API.

```sh
helm install api deploy/helm/apiserver-gateway --namespace control-plane --create-namespace
helm --namespace control-plane test api
```

What `helm install` prints says how to get the administrator's kubeconfig.

**What is made at the first install** (the CA, the key that signs tokens, the administrator's token and kubeconfig,
etcd's certificates) is in Secrets, which a job makes while the other pods wait for them: `apiserver-gateway
make-secrets`, as a service account that may create Secrets, and read and change those. Each revision, and each change
of what the job is made of, has a job of its own: what is there stays, what is missing is added, and etcd's
certificates are renewed when half
their time is over (the members read them as they are). The Secrets are none of the release: they outlive
`helm uninstall`, as the data does, and the next release of the same name goes on with them. `kubectl delete secret
--selector app.kubernetes.io/instance=RELEASE` takes them away. The job is not a hook, so that
`helm install` waits for nothing, and `helm template | kubectl apply` and tools like Argo CD do the same.

**Volumes outlive `helm uninstall`**: those of etcd's members, and that of snapshots. A bundled etcd keeps the number of
members that it was made with.

**Certificates of one's own**: with `certificates.mode=secret`, `secretName` has `tls.crt`, `tls.key` and `ca.crt`, and
covers the Service's names; with `certManager` the chart makes a Certificate for them. The gateways read them when they
start: restart them (`kubectl rollout restart`) after a renewal.

**A member of etcd that has lost its volume** joins its cluster again by itself, once a quorum of the others is healthy:
delete its claim and its pod. **A snapshot is restored** by a Job, into one member; the others join that one.
docs/how-to/chart.md has the commands.

## Values

| value | what it is | default |
|---|---|---|
"""


def leaves(text: str) -> Iterator[tuple[str, str]]:
    """The path and the description of each described value. Raises ValueError for one that has no description."""
    path: list[tuple[int, str]] = []
    description = ""
    inside = -1  # the indentation of the described value whose default goes on in further lines
    for line in text.splitlines():
        if comment := re.fullmatch(r" *# -- (.+)", line):
            description = comment[1]
        elif entry := re.match(r"( *)([A-Za-z]+):(.*)", line):
            indentation = len(entry[1])
            if 0 <= inside < indentation:
                continue
            inside = -1
            path = [*(each for each in path if each[0] < indentation), (indentation, entry[2])]
            if description:
                yield ".".join(name for _, name in path), description
                description, inside = "", indentation
            elif entry[3].strip():
                raise ValueError(f"{entry[2]} has no description")


def value_at(values: Any, path: str) -> Any:
    """The value at a dotted path."""
    for name in path.split("."):
        values = values[name]
    return values


def schema(values: dict[str, Any], described: dict[str, str]) -> dict[str, Any]:
    """The JSON schema of the values."""

    def of(value: Any, path: str) -> dict[str, Any]:
        made: dict[str, Any] = {"type": _TYPES[type(value)], **RULES.get(path, {})}
        if text := described.get(path):
            made["description"] = text
        if isinstance(value, dict) and value and path not in OPEN:
            made["additionalProperties"] = False
            made["properties"] = {name: of(each, f"{path}.{name}" if path else name) for name, each in value.items()}
        return made

    whole = of(values, "")
    whole["properties"]["global"] = {"type": "object"}
    conditions = [
        {"if": _nested(given, lambda value: {"const": value}), "then": _nested(asked, lambda rule: rule)}
        for given, asked in CONDITIONS
    ]
    return {"$schema": "http://json-schema.org/draft-07/schema#", **whole, "allOf": conditions}


def _nested(facts: dict[str, dict[str, Any]], leaf: Any) -> dict[str, Any]:
    return {
        "properties": {
            outer: {"properties": {name: leaf(value) for name, value in inner.items()}}
            for outer, inner in facts.items()
        }
    }


def readme(values: dict[str, Any], described: dict[str, str]) -> str:
    """The README."""
    rows = (
        f"| `{path}` | {text} | `{json.dumps(value_at(values, path), ensure_ascii=False)}` |"
        for path, text in described.items()
    )
    return _README + "\n".join(rows) + "\n"


def generated() -> dict[Path, str]:
    """The files and what they have to hold."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    values, described = yaml.safe_load(text), dict(leaves(text))
    return {
        CHART / "README.md": readme(values, described),
        CHART / "values.schema.json": json.dumps(schema(values, described), indent=2, ensure_ascii=False) + "\n",
    }


def main() -> int:
    """Writes the files, or with --check says which are not up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something is out of date")
    check = parser.parse_args().check
    stale = [path for path, text in generated().items() if not path.is_file() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"{path} is not up to date: run hack/chart.py", file=sys.stderr)
        else:
            path.write_text(generated()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
