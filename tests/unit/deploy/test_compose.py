"""docker-compose.yml: its structure, and that it agrees with the Dockerfile and the command's flags."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose

from gateway.settings.flags import FLAGS

ROOT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
SERVICES: dict[str, Any] = COMPOSE["services"]
GATEWAY = SERVICES["gateway"]


def test_the_file_is_of_the_compose_specification() -> None:
    plain = json.loads(re.sub(r"\$\{\w+:\+[^}]*\}", "", re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", json.dumps(COMPOSE))))
    assert set(PyCompose.from_json(json.dumps(plain)).service_names()) == set(SERVICES)
    for name, service in plain["services"].items():
        misspelt = {**plain, "services": {name: {**service, "depend_on": {}}}}
        with pytest.raises(ValueError):
            PyCompose.from_json(json.dumps(misspelt))
        assert all(isinstance(word, str) for word in service["command"])


def test_what_services_refer_to_is_there() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in COMPOSE["volumes"]
        for config in service.get("configs", ()):
            assert (ROOT / COMPOSE["configs"][config["source"]]["file"]).is_file()
        for other in service.get("depends_on", ()):
            # what is started with a service is not left out by its profiles
            assert set(SERVICES[other].get("profiles", ())) <= set(service.get("profiles", ())), name


def test_services_that_stay_are_checked_and_restarted_and_their_logs_bounded() -> None:
    duration = re.compile(r"\d+(ms|s|m)").fullmatch
    for service in SERVICES.values():
        if "tools" in service.get("profiles", ()):
            assert service["restart"] == "no"
            continue
        check = service["healthcheck"]
        assert check["test"][0] == "CMD"
        assert all(duration(check[key]) for key in ("interval", "timeout", "start_period"))
        assert "start_interval" not in check, "Docker Engine before 25 refuses it"
        assert service["restart"] == "unless-stopped"
        assert service["logging"]["options"] == {"max-size": "10m", "max-file": "3"}
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["stop_grace_period"] == "30s"  # more than --shutdown-timeout


def test_watches_do_not_keep_the_load_balancer_from_ending() -> None:
    config = (ROOT / COMPOSE["configs"]["haproxy"]["file"]).read_text()
    (seconds,) = re.findall(r"^ +hard-stop-after (\d+)s$", config, re.M)
    assert int(seconds) < int(SERVICES["load-balancer"]["stop_grace_period"].removesuffix("s"))


@pytest.mark.parametrize("name", ["gateway", "gateway-0", "gateway-1"])
def test_a_gateway_is_given_flags_that_exist(name: str) -> None:
    command = SERVICES[name]["command"]
    assert command[0] == "serve"
    flags = dict(word.removeprefix("--").split("=", 1) for word in command[1:])
    assert set(flags) <= {flag.name for flag in FLAGS}
    advertised = [word.partition("=")[2] for it in SERVICES[name]["depends_on"] for word in SERVICES[it]["command"]]
    assert set(flags["etcd-servers"].split(",")) <= set(advertised)


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


def test_both_images_have_one_base_which_is_pinned() -> None:
    snapshots = (ROOT / "deploy" / "snapshots" / "Dockerfile").read_text()
    bases = [line for text in (DOCKERFILE, snapshots) for line in text.splitlines() if line.startswith("ARG BASE=")]
    assert len(bases) == 2 and len(set(bases)) == 1
    assert re.fullmatch(r"ARG BASE=python:\d+\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", bases[0])
    (etcd,) = [line.removeprefix("ARG ETCD=") for line in snapshots.splitlines() if line.startswith("ARG ETCD=")]
    assert etcd in SERVICES["etcd"]["image"], "etcdutl is of the etcd whose data it writes"


def test_the_image_runs_as_nobody_in_particular() -> None:
    assert re.search(r"^USER (?!0|root)\d+:\d+$", DOCKERFILE, re.M)
    assert 'ENTRYPOINT ["/opt/gateway/bin/apiserver-gateway"]' in DOCKERFILE
    assert GATEWAY["healthcheck"]["test"][1] == "/opt/gateway/bin/python"
    assert json.dumps(GATEWAY["healthcheck"]["test"][1:]) in DOCKERFILE  # the image's own check is the same
