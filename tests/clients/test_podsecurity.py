"""The pods and templates of the Pod Security Standards' own package are accepted or refused as it expects."""

from __future__ import annotations

import subprocess

from apiserver_gateway.testing import ApiServer
from tests.clients.golang import built


def test_levels_take_and_refuse_what_the_standards_say(server: ApiServer) -> None:
    done = subprocess.run([built("podsecurity"), server.kubeconfig], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
