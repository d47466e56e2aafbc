"""docker-compose.yml: its structure, and that what it says agrees with the Dockerfile and the command's flags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from gateway.flags import FLAGS

ROOT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
GATEWAY, ETCD = COMPOSE["services"]["gateway"], COMPOSE["services"]["etcd"]


def test_only_keys_of_the_compose_specification() -> None:
    assert set(COMPOSE) == {"name", "services", "volumes"}
    known = {
        *("build", "command", "depends_on", "healthcheck", "image", "ports", "restart", "stop_grace_period", "volumes"),
    }
    for service in COMPOSE["services"].values():
        assert set(service) <= known
        assert ("image" in service) != ("build" in service)
        assert all(isinstance(word, str) for word in service["command"])


def test_named_volumes_are_declared() -> None:
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            assert volume.partition(":")[0] in COMPOSE["volumes"]


def test_health_checks() -> None:
    duration = re.compile(r"\d+(ms|s|m)").fullmatch
    for service in COMPOSE["services"].values():
        check = service["healthcheck"]
        assert check["test"][0] == "CMD"
        assert duration(check["interval"])
        assert duration(check["timeout"])
        assert isinstance(check["retries"], int)
    assert GATEWAY["depends_on"] == {"etcd": {"condition": "service_healthy"}}


def test_the_gateway_is_given_flags_that_exist() -> None:
    assert GATEWAY["command"][0] == "serve"
    flags = dict(word.removeprefix("--").split("=", 1) for word in GATEWAY["command"][1:])
    assert set(flags) <= {flag.name for flag in FLAGS}
    assert flags["etcd-servers"] in " ".join(ETCD["command"])


def test_what_is_written_lies_in_the_volume() -> None:
    (mount,) = GATEWAY["volumes"]
    directory = mount.partition(":")[2]
    written = [word.partition("=")[2] for word in GATEWAY["command"] if "-dir=" in word or "-out=" in word]
    assert written and all(path.startswith(f"{directory}/") for path in written)
    assert f"--home-dir {directory}" in DOCKERFILE  # made by useradd, and so the user's own


def test_the_build_finds_its_dockerfile_and_sources() -> None:
    build = GATEWAY["build"]
    assert (ROOT / build["context"] / build["dockerfile"]).is_file()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
    sources = [source for line in copied for source in line.split()]
    ignored = (ROOT / ".dockerignore").read_text().split()
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in ignored


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert re.search(r"^USER (?!0|root)\d+$", DOCKERFILE, re.M)
    assert 'ENTRYPOINT ["/opt/gateway/bin/apiserver-gateway"]' in DOCKERFILE
    assert GATEWAY["healthcheck"]["test"][1] == "/opt/gateway/bin/python"
