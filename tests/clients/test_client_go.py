"""client-go, the Go library of Kubernetes' components: typed informers in protobuf, metadata informers, dynamic
informers.
"""

from __future__ import annotations

import json
import re
import subprocess

from apiserver_gateway.testing import ApiServer
from tests.clients.command import Kubectl
from tests.clients.golang import built


def test_informers_of_all_sorts_follow_changes(server: ApiServer, kubectl: Kubectl) -> None:
    command = [built("informers"), f"-kubeconfig={server.kubeconfig}", f"-namespace={kubectl.namespace}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["informers"] == 36
    warnings = [line for line in done.stderr.splitlines() if not re.match(r"I\d{4} |Trace\[", line)]
    assert warnings == [], "of what it could not read; how long something took may be said, too"
