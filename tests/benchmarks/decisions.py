"""What a decision costs: remembered, and after a change of any role, with 5 000 bindings in place.

python -m tests.benchmarks.decisions
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.access.rbac.authorizer import RBAC
from gateway.access.rbac.policy import GROUP, RbacPolicy, RbacResource
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes

BINDINGS = 5000
WARM, COLD = 15.0, 100.0  # microseconds that are allowed
RULES = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]


def _policy() -> RbacPolicy:
    """A role for each user; one user is bound to all of them, too."""
    policy = RbacPolicy()
    for number in range(BINDINGS):
        ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": f"r{number}"}
        subjects = [{"kind": "User", "apiGroup": GROUP, "name": name} for name in (f"u{number}", "all")]
        policy.put(RbacResource.CLUSTER_ROLE, {"metadata": {"name": f"r{number}"}, "rules": RULES})
        policy.put(
            RbacResource.CLUSTER_BINDING, {"metadata": {"name": f"b{number}"}, "roleRef": ref, "subjects": subjects}
        )
    return policy


def _best(work: Callable[[], object], rounds: int = 200) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best * 1e6


def main() -> None:
    policy = _policy()
    rbac = RBAC(policy)
    for who, method in (("u17", "GET"), ("u17", "DELETE"), ("all", "GET"), ("all", "DELETE"), ("nobody", "GET")):
        question = Attributes(User(who), request_info(method, "/api/v1/namespaces/x/pods/p", {}))

        def after_a_change(question: Attributes = question) -> None:
            rbac._decided.clear()  # what each change does
            rbac.decide(question)

        after_a_change()
        warm, cold = _best(lambda question=question: rbac.known(question)), _best(after_a_change)  # type: ignore[misc]  # of this turn
        mark = "" if warm <= WARM and cold <= COLD else "   above"
        print(f"{f'decision about {who}, {method} (µs: warm, after a change)':54s}{warm:12.1f}{cold:12.1f}{mark}")


if __name__ == "__main__":
    main()
