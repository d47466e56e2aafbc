"""Pages, scripts and tests that name a release of Kubernetes name the default one of minors.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.release.minors import DEFAULT, GIT_VERSIONS
from tests.upstream import PEER
from tests.upstream.controlplane.programs import VERSION

ROOT = Path(__file__).parents[3]
RELEASE = GIT_VERSIONS[DEFAULT].removeprefix("v")
NAMED = {
    ".ci/tools": "KUBERNETES={}\n",
    "docs/how-to/nodes.md": "kubernetesVersion: v{}\n",
    "tests/integration/encryption/test_interoperation.py": '"kubernetes-{}"',
    "tests/upstream/node/programs.py": '"KUBERNETES", "{}"',
}


@pytest.mark.parametrize("file", NAMED)
def test_a_file_names_it(file: str) -> None:
    assert NAMED[file].format(RELEASE) in (ROOT / file).read_text()


def test_what_the_server_is_compared_with_is_of_it() -> None:
    assert (PEER, VERSION) == (DEFAULT, RELEASE)
