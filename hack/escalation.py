"""Plays the same random sequences of writes by users with random rights to two servers, and says where they decide
otherwise: `hack/escalation.py URL TOKEN URL TOKEN [--sequences N] [--seed N]`, the tokens being administrators'.

Users act by impersonation. One of the servers is meant to be a kube-apiserver with --authorization-mode=RBAC.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import ssl
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

GROUP = "rbac.authorization.k8s.io"
USERS = ("ada", "bob", "cid")
VERBS = (
    "get",
    "list",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "*",
)
RESOURCES = ("roles", "clusterroles", "rolebindings", "clusterrolebindings", "pods", "secrets", "users", "*")
KINDS = {"Role": "roles", "ClusterRole": "clusterroles", "RoleBinding": "rolebindings"}
KINDS["ClusterRoleBinding"] = "clusterrolebindings"
JSON = "application/json"
LABEL = "escalation-test"
RUN = int(time.time())  # no namespace comes twice


@dataclass(slots=True)
class Step:
    """A request of a user; "" is the administrator."""

    user: str
    method: str
    path: str
    body: Any = None
    media: str = JSON

    def __str__(self) -> str:
        return f"{self.user or 'administrator'}: {self.method} {self.path} {json.dumps(self.body)} ({self.media})"


class Server:
    """One of the two."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port or 443, context=context)
        self._token = token

    def send(self, step: Step) -> tuple[int, str]:
        """The status, and the message of a refusal, or the answer to a question."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": step.media, "Accept": JSON}
        if step.user:
            headers |= {"Impersonate-User": step.user, "Impersonate-Group": "system:authenticated"}
        body = None if step.body is None else json.dumps(step.body)
        self._connection.request(step.method, step.path, body, headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read() or b"{}")
        if response.status >= 400:
            return response.status, _sorted(str(answer.get("message", "")))
        # the reason names any one of the bindings that allow it
        return response.status, str(answer["status"]["allowed"]) if answer.get("kind") == "SubjectAccessReview" else ""


def _sorted(message: str) -> str:
    """A refusal with the roles that are not there in order: kube-apiserver finds them in any."""
    before, bracket, names = message.partition(": RBAC: [")
    return before + bracket + ", ".join(sorted(names.removesuffix("]").split(", ")))


def rule(pick: random.Random) -> dict[str, Any]:
    """A random policy rule."""
    if pick.random() < 0.1:
        urls = pick.sample(["/metrics", "/healthz", "/api/*", "*"], 2)
        return {"nonResourceURLs": urls, "verbs": pick.sample(["get", "post", "*"], 1)}
    made: dict[str, Any] = {
        "apiGroups": pick.choice([[GROUP], [""], ["*"], ["", GROUP]]),
        "resources": pick.sample(RESOURCES, pick.randint(1, 3)),
        "verbs": pick.sample(VERBS, pick.randint(1, 4)),
    }
    return made | ({"resourceNames": pick.sample(["one", "two", "three"], 1)} if pick.random() < 0.2 else {})


def rules(pick: random.Random) -> list[dict[str, Any]]:
    """A random role's rules."""
    return [rule(pick) for _ in range(pick.randint(0, 3))]


def subject(pick: random.Random) -> dict[str, str]:
    """Somebody to bind to."""
    if pick.random() < 0.2:
        return {"kind": "Group", "apiGroup": GROUP, "name": "system:authenticated"}
    return {"kind": "User", "apiGroup": GROUP, "name": pick.choice(USERS)}


def step(pick: random.Random, namespace: str) -> Step:
    """A random step of a random user, now and then of the administrator."""
    user = pick.choice((*USERS, *USERS, ""))
    kind, name = pick.choice(list(KINDS)), f"{LABEL}-{pick.choice(('one', 'two', 'three'))}"
    scope = "" if kind.startswith("Cluster") else f"namespaces/{namespace}/"
    collection = f"/apis/{GROUP}/v1/{scope}{KINDS[kind]}"
    content: dict[str, Any] = {}
    if "Binding" in kind:
        to = pick.choice(["Role", "ClusterRole"]) if kind == "RoleBinding" else "ClusterRole"
        target = f"{LABEL}-{pick.choice(('one', 'two', 'three'))}" if pick.random() < 0.8 else "view"
        content["roleRef"] = {"apiGroup": GROUP, "kind": to, "name": target}
        content["subjects"] = [subject(pick) for _ in range(pick.randint(0, 2))]
    else:
        content["rules"] = rules(pick)
        if kind == "ClusterRole" and pick.random() < 0.15:
            content["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {LABEL: "x"}}]}
    meta: dict[str, Any] = {"name": name, "labels": {LABEL: "yes"}}
    obj = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": meta, **content}
    match pick.randint(0, 9):
        case 0 | 1 | 2:
            return Step(user, "POST", collection, obj)
        case 3 | 4:
            return Step(user, "PUT", f"{collection}/{name}", obj)
        case 5:
            return Step(user, "PATCH", f"{collection}/{name}", content, "application/merge-patch+json")
        case 6:
            field = "subjects" if "Binding" in kind else "rules"
            patch = [{"op": "add", "path": f"/{field}/-", "value": (content.get(field) or [rule(pick)])[0]}]
            return Step(user, "PATCH", f"{collection}/{name}", patch, "application/json-patch+json")
        case 7:
            query = "?fieldManager=test&force=true"
            return Step(user, "PATCH", f"{collection}/{name}{query}", obj, "application/apply-patch+yaml")
        case 8:
            return Step(user, "DELETE", f"{collection}/{name}")
    return Step(user, "DELETE", f"{collection}?labelSelector={LABEL}%3Dyes")


def probes(namespace: str) -> list[Step]:
    """What each user may do then."""
    found = []
    for user in USERS:
        for resource in ("secrets", "pods", "clusterroles", "rolebindings"):
            for verb in ("get", "create", "bind", "escalate"):
                group = "" if resource in ("secrets", "pods") else GROUP
                asked = {"group": group, "resource": resource, "verb": verb, "namespace": namespace}
                review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
                spec = {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked}
                found.append(
                    Step("", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review | {"spec": spec})
                )
    return found


def prepare(servers: list[Server], pick: random.Random, namespace: str) -> None:
    """Gives the users rights to write some roles and bindings."""
    for server in servers:
        server.send(Step("", "POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}))
        for kind in ("clusterrolebindings", "clusterroles"):
            server.send(Step("", "DELETE", f"/apis/{GROUP}/v1/{kind}?labelSelector={LABEL}%3Dyes"))
    for user in USERS:
        base = {
            "apiGroups": [GROUP],
            "resources": pick.sample(sorted(KINDS.values()), 3),
            "verbs": pick.sample(["create", "update", "patch", "delete", "deletecollection", "get"], 4),
        }
        meta = {"name": f"{LABEL}-base-{user}", "labels": {LABEL: "yes"}}
        ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": meta["name"]}
        bound = {"metadata": meta, "roleRef": ref, "subjects": [{"kind": "User", "apiGroup": GROUP, "name": user}]}
        for server in servers:
            made = {"metadata": meta, "rules": [base, *rules(random.Random(pick.random()))][:1]}
            server.send(Step("", "POST", f"/apis/{GROUP}/v1/clusterroles", made))
            server.send(Step("", "POST", f"/apis/{GROUP}/v1/clusterrolebindings", bound))


def play(servers: list[Server], seed: int, length: int, pause: float) -> tuple[Counter[int], list[str]]:
    """The statuses that came, and where the servers differ."""
    pick, namespace, seen, differences = random.Random(seed), f"{LABEL}-{seed}-{RUN}", Counter[int](), list[str]()
    prepare(servers, pick, namespace)
    time.sleep(pause)  # kube-apiserver decides by informers, which come behind
    for _ in range(length):
        asked = step(pick, namespace)
        one, other = (server.send(asked) for server in servers)
        seen[one[0]] += 1
        if one != other:
            differences.append(f"{asked}\n    {one}\n    {other}")
        if asked.method != "GET" and one[0] < 300:
            time.sleep(pause)
    for asked in probes(namespace):
        one, other = (server.send(asked) for server in servers)
        if one != other:
            differences.append(f"{asked}\n    {one}\n    {other}")
    for server in servers:
        server.send(Step("", "DELETE", f"/api/v1/namespaces/{namespace}"))
    return seen, differences


def main() -> int:
    """Plays; 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs=4, metavar="URL TOKEN")
    parser.add_argument("--sequences", type=int, default=20)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.4, help="seconds after a write: kube-apiserver's informers")
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    servers = [Server(*parsed.servers[:2]), Server(*parsed.servers[2:])]
    total, found = Counter[int](), 0
    for seed in range(parsed.seed, parsed.seed + parsed.sequences):
        seen, differences = play(servers, seed, parsed.length, parsed.pause)
        total += seen
        found += len(differences)
        print(f"sequence {seed}: {dict(seen)}, {len(differences)} differences")
        print("\n".join(differences))
    print(f"{sum(total.values())} steps: {dict(total)}; {found} decided otherwise")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
