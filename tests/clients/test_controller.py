"""An operator with controller-runtime, whose CRD has two versions and a conversion webhook."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from apiserver_gateway.testing import ApiServer
from tests.clients.command import Kubectl
from tests.clients.golang import built

HOLDS = ["reconciled", "restored", "cached", "updated", "applied", "refused", "ended"]


def test_a_controller_with_a_conversion_webhook(server: ApiServer, kubectl: Kubectl, tmp_path: Path) -> None:
    program = built("controller")
    group = f"{kubectl.namespace}.example.com"
    command = [program, f"-server={server.kubeconfig}", f"-namespace={kubectl.namespace}", f"-group={group}"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    outcome = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=250)
    assert (outcome.returncode, outcome.stdout.split()) == (0, HOLDS), outcome.stdout + outcome.stderr
