"""Plays the same random attempts of users to gain rights to two servers, and says where they decide otherwise:
`python -m tests.upstream escalation URL TOKEN URL TOKEN [--sequences N] [--seed N]`, the tokens being administrators'.

The attempts are those of tests/integration/access/attempts.py. One of the servers is meant to be a kube-apiserver with
--authorization-mode=RBAC, and a kube-controller-manager that aggregates roles, fills token secrets and signs.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import ssl
import time
from collections import Counter
from collections.abc import Sequence
from itertools import product
from urllib.parse import urlsplit

from tests.integration.access.attempts import ACTORS, JSON, LABEL, RBAC, VICTIM, Step, cleared, prepared, step, username

RUN = int(time.time())  # makes names of namespaces unique
PATIENCE = 20.0  # seconds in which kube-apiserver's informers get its writes, on a busy machine too


class Server:
    """One of the two servers."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(parts.hostname or "", parts.port or 443, context=context)
        self._tokens = {"": token}

    def prepare(self, seed: int, namespace: str) -> None:
        """Creates the initial objects of a sequence, and gets the actors' tokens."""
        for each in prepared(random.Random(seed), namespace):
            self.send(each)
        for name in ACTORS:
            path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
            self._tokens[name] = json.loads(self._ask(Step("", "POST", path, {}))[1])["status"]["token"]

    def send(self, sent: Step) -> tuple[int, str]:
        """The status, and the message of a refusal or the result of a review."""
        status, body = self._ask(sent)
        answer = json.loads(body or b"{}")
        if status >= 400:
            return status, _sorted(str(answer.get("message", "")))
        if answer.get("kind") == "SelfSubjectReview":
            user = answer["status"]["userInfo"]
            return status, f"{user['username']} {user.get('groups')}"
        # the reason may name any binding that allows it
        return status, str(answer["status"]["allowed"]) if answer.get("kind") == "SubjectAccessReview" else ""

    def _ask(self, sent: Step) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._tokens[sent.actor]}", "Content-Type": sent.media, "Accept": JSON}
        body = None if sent.body is None else json.dumps(sent.body)
        self._connection.request(sent.method, sent.path, body, headers | dict(sent.headers))
        response = self._connection.getresponse()
        return response.status, response.read()


def _sorted(message: str) -> str:
    """Sorts the missing roles in a refusal: kube-apiserver lists them in random order."""
    before, bracket, names = message.partition(": RBAC: [")
    return before + bracket + ", ".join(sorted(names.removesuffix("]").split(", ")))


def probes(namespace: str) -> list[Step]:
    """Asks for the rights of each user after the sequence."""
    found = []
    names = [*(username(namespace, each) for each in (*ACTORS, VICTIM)), "eve"]
    resources = (("", "secrets"), ("", "pods"), (RBAC, "clusterroles"), (RBAC, "rolebindings"), ("", "users"))
    for user, (group, resource), verb in product(names, resources, ("get", "create", "bind", "impersonate")):
        asked = {"group": group, "resource": resource, "verb": verb, "namespace": namespace}
        spec = {"user": user, "groups": ["system:authenticated"], "resourceAttributes": asked}
        review = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": spec}
        found.append(Step("", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review))
    return found


def settled(servers: list[Server], asked: Step, pause: float) -> list[tuple[int, str]]:
    """Both answers. Requests without side effects are repeated while the answers differ: kube-apiserver's informers are
    late.
    """
    said = [server.send(asked) for server in servers]
    is_question = asked.method == "GET" or asked.path.endswith("reviews")
    end = time.monotonic() + PATIENCE
    while said[0] != said[1] and time.monotonic() < end:
        time.sleep(pause)
        said = [
            server.send(asked) if is_question or answer[0] >= 400 else answer
            for server, answer in zip(servers, said, strict=True)
        ]
    return said


def play(servers: list[Server], seed: int, length: int, pause: float) -> tuple[Counter[int], list[str]]:
    """Plays a sequence. Returns the statuses, and the differences."""
    pick, namespace, seen, differences = random.Random(seed), f"{LABEL}-{seed}-{RUN}", Counter[int](), list[str]()
    for server, each in product(servers, list(cleared())):
        server.send(each)
    time.sleep(pause)
    for server in servers:
        server.prepare(seed, namespace)
    time.sleep(4 * pause)  # kube-apiserver decides by informers, which are late

    def compare(asked: Step) -> int:
        one, other = settled(servers, asked, pause)
        if one != other:
            differences.append(f"{asked}\n    {one}\n    {other}")
        return one[0]

    for _ in range(length):
        asked = step(pick, namespace)
        status = compare(asked)
        seen[status] += 1
        if asked.method != "GET" and status < 300:
            time.sleep(pause)
    for asked in probes(namespace):
        compare(asked)
    for server in servers:
        server.send(Step("", "DELETE", f"/api/v1/namespaces/{namespace}"))
    return seen, differences


def main(words: Sequence[str]) -> int:
    """Plays all sequences. Returns 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs=4, metavar="URL TOKEN")
    parser.add_argument("--sequences", type=int, default=20)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--pause", type=float, default=0.4, help="seconds after a write: kube-apiserver's informers")
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args(words)
    servers = [Server(*parsed.servers[:2]), Server(*parsed.servers[2:])]
    total, found = Counter[int](), 0
    for seed in range(parsed.seed, parsed.seed + parsed.sequences):
        seen, differences = play(servers, seed, parsed.length, parsed.pause)
        total += seen
        found += len(differences)
        print(f"sequence {seed}: {dict(seen)}, {len(differences)} differences")
        print("\n".join(differences), flush=True)
    print(f"{sum(total.values())} steps: {dict(total)}; {found} decided otherwise")
    return 1 if found else 0
