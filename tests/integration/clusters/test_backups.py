"""A backup has one control plane, and its restore touches no other one: not their keys, and not their watches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, Cluster, ask, install, wait_for
from apiserver_gateway.testing.clusters import PATH, made
from apiserver_gateway.testing.connections import SentRequest
from gateway.clusters.backups import NoControlPlane, _Place, _place, restore_cluster, take_cluster
from gateway.clusters.definition import ANNOUNCEMENTS, MADE
from gateway.clusters.roles import ROLES
from gateway.clusters.templates import ClusterTemplate, ClusterTemplates
from storage.backups.file import BackupKey, InvalidBackup, Writer, read, verify
from storage.errors import StorageError, WholeReplaced
from storage.etcd import EtcdClient
from storage.fence import Existence
from storage.leading import Leading
from tests.integration.clusters.test_life import MAPS, ROOT, absent
from tests.integration.clusters.test_serving import WIDGETS, definition, widget
from tests.integration.clusters.test_templates import ROLE, furnish
from tests.integration.server.client import ask as raw
from tests.until import until

PREFIX = ROOT.decode().removesuffix("-clusters/")
KINDS = "/apis/rbac.authorization.k8s.io/v1/clusterroles", MAPS, "/api/v1/serviceaccounts", "/api/v1/secrets", WIDGETS


def state(cluster: Cluster) -> dict[str, Any]:
    """All objects of some kinds, apart from their resourceVersions."""
    found = {}
    for path in KINDS:
        for each in ask(cluster, "GET", path)["items"]:
            del each["metadata"]["resourceVersion"]
            found[f"{path}/{each['metadata'].get('namespace')}/{each['metadata']['name']}"] = each
    return found


async def keys(etcd: EtcdClient, server: ApiServer, *without: Cluster) -> dict[bytes, tuple[bytes, int]]:
    """All keys of the root and of all control planes but some, and when each was written last."""
    own = (b"/apiserver-gateway/", b"/masterleases/", b"/leases/", b"/events/", b"-clusters/templates/")
    parts = tuple(ROOT + below + uid(server, each).encode() for each in without for below in (b"", ANNOUNCEMENTS))
    found = (await etcd.prefix(PREFIX.encode())).kvs
    return {
        kv.key: (kv.value, kv.mod_revision)
        for kv in found
        if not kv.key.startswith((*parts, *(PREFIX.encode() + each for each in own)))
    }


def uid(server: ApiServer, cluster: Cluster) -> str:
    return str(ask(server, "GET", f"{PATH}/{cluster.name}")["metadata"]["uid"])


def spoil(cluster: Cluster) -> None:
    ask(cluster, "DELETE", f"{MAPS}/owned")
    ask(cluster, "POST", MAPS, {"metadata": {"name": "later"}})
    resize(cluster, 7)


def resize(cluster: Cluster, size: int) -> None:
    ask(cluster, "PUT", f"{WIDGETS}/w", ask(cluster, "GET", f"{WIDGETS}/w") | {"spec": {"size": size}})


async def test_a_restore_brings_back_one_and_leaves_all_others(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path
) -> None:
    with server.cluster() as cluster, server.cluster() as other:
        for each in (cluster, other):
            furnish(each)
        wanted, file = state(cluster), tmp_path / "one"
        taken = await take_cluster(etcd, PREFIX, cluster.name, file)
        assert file.stat().st_mode & 0o777 == 0o600
        for each in (cluster, other):
            spoil(each)
        begun = ask(cluster, "GET", MAPS)["metadata"]["resourceVersion"]
        watch = SentRequest("GET", f"{MAPS}?watch=true&resourceVersion={begun}", None, cluster.token)
        beside = SentRequest("GET", f"{MAPS}?watch=true", None, other.token)
        kept, spoilt = await keys(etcd, server, cluster), state(other)
        with (
            cluster.connections.answer(cluster, watch, 60) as ended,
            other.connections.answer(other, beside, 60) as lines,
        ):
            restored = await restore_cluster(etcd, PREFIX, cluster.name, file, verify(file))
            assert restored > taken.revision
            assert ended.read() == b"", "it ends without a word of the deletions"
            until(lambda: raw(server, "GET", f"/clusters/{cluster.name}{WIDGETS}/w", token=cluster.token).status == 200)
            assert state(cluster) == wanted
            assert await keys(etcd, server, cluster) == kept and state(other) == spoilt
            ask(other, "POST", MAPS, {"metadata": {"name": "told"}})
            told = [json.loads(lines.readline()) for _ in range(len(ask(other, "GET", MAPS)["items"]))]
            assert {each["type"] for each in told} == {"ADDED"} and told[-1]["object"]["metadata"]["name"] == "told"
        for past in (f"{MAPS}?watch=true&resourceVersion={begun}", f"{MAPS}?resourceVersion={begun}&{EXACT}"):
            assert expired(server, cluster, past), past
        ask(cluster, "POST", MAPS, {"metadata": {"name": "after"}})
        resize(cluster, 2)
        assert ask(cluster, "GET", f"{WIDGETS}/w")["spec"] == {"size": 2}


EXACT = "resourceVersionMatch=Exact&limit=1"


def expired(server: ApiServer, cluster: Cluster, path: str) -> bool:
    found = raw(server, "GET", f"/clusters/{cluster.name}{path}", token=cluster.token)
    answer = json.loads(found.body.splitlines()[0])
    return 410 in (found.status, answer.get("object", {}).get("code"))


async def test_what_a_restore_wrote_goes_with_the_control_plane(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path
) -> None:
    """The second restore of the same file, and of another one, leave one template each."""
    uses = ROOT + b"templates/uses/"
    with server.cluster() as cluster:
        ask(cluster, "POST", MAPS, {"metadata": {"name": "a"}})
        await take_cluster(etcd, PREFIX, cluster.name, tmp_path / "a")
        ask(cluster, "POST", MAPS, {"metadata": {"name": "b"}})
        await take_cluster(etcd, PREFIX, cluster.name, tmp_path / "b")
        for name in ("a", "a", "b", "a"):
            await restore_cluster(etcd, PREFIX, cluster.name, tmp_path / name, verify(tmp_path / name))
            found = (await etcd.prefix(uses, keys_only=True)).kvs
            digests = {kv.key.split(b"/")[-2] for kv in found if kv.key.endswith(uid(server, cluster).encode())}
            assert len(digests) == 1
        until(lambda: raw(server, "GET", f"/clusters/{cluster.name}{MAPS}/b", token=cluster.token).status == 404)
        assert ask(cluster, "GET", f"{MAPS}/a")["metadata"]["name"] == "a"
    until(lambda: absent(server, cluster.name))
    assert not (await etcd.prefix(uses + digests.pop(), count_only=True)).count


async def test_a_restore_that_was_killed_leaves_nothing_of_a_deleted_one(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has written its template, and not yet what tells the control plane of it."""
    templates = ROOT + b"templates/"
    with server.cluster() as cluster:
        before = (await etcd.prefix(templates, keys_only=True)).kvs
        ask(cluster, "POST", MAPS, {"metadata": {"name": "a"}})
        await take_cluster(etcd, PREFIX, cluster.name, tmp_path / "a")
        keep = ClusterTemplates.keep

        async def killed(_: _Place) -> None:
            monkeypatch.undo()

        async def kept(self: ClusterTemplates, leading: Leading, template: ClusterTemplate) -> int:
            await keep(self, leading, template)
            raise ConnectionError

        monkeypatch.setattr(ClusterTemplates, "keep", kept)
        monkeypatch.setattr(_Place, "end_others", killed)
        with pytest.raises(ConnectionError):
            await restore_cluster(etcd, PREFIX, cluster.name, tmp_path / "a", verify(tmp_path / "a"))
        assert len((await etcd.prefix(templates, keys_only=True)).kvs) > len(before)
    until(lambda: absent(server, cluster.name))
    assert (await etcd.prefix(templates, keys_only=True)).kvs == before


async def test_a_later_control_plane_gets_it_with_its_uids(server: ApiServer, etcd: EtcdClient, tmp_path: Path) -> None:
    """It has other credentials: the server may have lost those of the deleted one."""
    with server.cluster() as former:
        owner = furnish(former)
        await take_cluster(etcd, PREFIX, former.name, tmp_path / "f")
        beginning = ask(former, "GET", "/api/v1/namespaces/default")["metadata"]["uid"]
    until(lambda: absent(server, former.name))
    later = made(server, former.name)
    try:
        await restore_cluster(etcd, PREFIX, later.name, tmp_path / "f", verify(tmp_path / "f"))
        assert wait_for(later, f"{MAPS}/owner", bool)["metadata"]["uid"] == owner["uid"]
        assert ask(later, "GET", "/api/v1/namespaces/default")["metadata"]["uid"] == beginning
        assert raw(server, "GET", f"/clusters/{later.name}{ROLE}", token=later.token).status == 404
        assert raw(server, "GET", f"/clusters/{later.name}{MAPS}", token=former.token).status == 401
        ask(later, "DELETE", f"{MAPS}/owner")  # its controllers run: they delete what it owned
        until(lambda: raw(server, "GET", f"/clusters/{later.name}{MAPS}/owned", token=later.token).status == 404)
    finally:
        later.delete()


async def test_a_process_that_has_not_seen_the_restore_writes_nothing(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path
) -> None:
    with server.cluster() as cluster:
        await take_cluster(etcd, PREFIX, cluster.name, tmp_path / "f")
        fence = Existence(ROOT + uid(server, cluster).encode() + b"/" + MADE)
        await fence.learn(etcd)
        await restore_cluster(etcd, PREFIX, cluster.name, tmp_path / "f", verify(tmp_path / "f"))
        with pytest.raises(WholeReplaced):
            await Leading(etcd, fence).txn([], [])


async def test_a_restore_relies_on_no_template_that_another_one_removes(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one removes what the control plane had; the second one, which brings that back, has seen it there."""
    with server.cluster() as cluster:
        for name in ("former", "later"):
            ask(cluster, "POST", MAPS, {"metadata": {"name": name}})
            await take_cluster(etcd, PREFIX, cluster.name, tmp_path / name)
        files = {name: (tmp_path / name, verify(tmp_path / name)) for name in ("former", "later")}
        await restore_cluster(etcd, PREFIX, cluster.name, *files["former"])
        keep, cleared = ClusterTemplates.keep, _Place.end_others

        async def interrupted(self: _Place) -> None:
            raise ConnectionError

        monkeypatch.setattr(_Place, "end_others", interrupted)
        with pytest.raises(ConnectionError):
            await restore_cluster(etcd, PREFIX, cluster.name, *files["later"])
        monkeypatch.setattr(_Place, "end_others", cleared)

        async def kept(self: ClusterTemplates, leading: Leading, template: ClusterTemplate) -> int:
            found = await keep(self, leading, template)
            await (await _place(etcd, PREFIX, cluster.name)).end_others()  # of the other command
            return found

        monkeypatch.setattr(ClusterTemplates, "keep", kept)
        with pytest.raises(StorageError, match="run the command again"):
            await restore_cluster(etcd, PREFIX, cluster.name, *files["former"])
        monkeypatch.undo()
        until(lambda: raw(server, "GET", f"/clusters/{cluster.name}{MAPS}/later", token=cluster.token).status == 200)
        await restore_cluster(etcd, PREFIX, cluster.name, *files["former"])
        until(lambda: raw(server, "GET", f"/clusters/{cluster.name}{MAPS}/later", token=cluster.token).status == 404)
        uses = (await etcd.prefix(ROOT + b"templates/uses/", keys_only=True)).kvs
        assert len([kv for kv in uses if kv.key.endswith(uid(server, cluster).encode())]) == 1


async def test_what_is_no_text_is_neither_saved_nor_restored(
    server: ApiServer, etcd: EtcdClient, tmp_path: Path
) -> None:
    with server.cluster() as cluster:
        file, bad = tmp_path / "f", tmp_path / "bad"
        await take_cluster(etcd, PREFIX, cluster.name, file)
        for pair in ((b"configmaps/default/a", b"\xff"), (b"configmaps/\xff/a", b"{}"), (ROLES, b"\xff")):
            records = dict(each[:2] for each in read(file) if isinstance(each, BackupKey)) | dict([pair])
            with bad.open("wb") as opened:
                writer = Writer(opened, verify(file).header)
                for key in sorted(records):
                    writer.key(BackupKey(key, records[key], 0))
                writer.end()
            with pytest.raises(InvalidBackup, match="is not text"):
                await restore_cluster(etcd, PREFIX, cluster.name, bad, verify(bad))
        await etcd.put(ROOT + uid(server, cluster).encode() + b"/configmaps/default/corrupt", b"\xff")
        with pytest.raises(StorageError, match="configmaps/default/corrupt"):
            await take_cluster(etcd, PREFIX, cluster.name, tmp_path / "later")
        assert not (tmp_path / "later").exists()


async def test_only_a_control_plane_that_is_ready_is_backed_up(etcd: EtcdClient, tmp_path: Path) -> None:
    with pytest.raises(NoControlPlane, match="there is no control plane absent"):
        await take_cluster(etcd, PREFIX, "absent", tmp_path / "f")
    assert not (tmp_path / "f").exists()


def test_the_commands_take_a_file_of_a_control_plane_for_one_only(server: ApiServer, tmp_path: Path) -> None:
    file, flag = str(tmp_path / "f"), f"--etcd-servers={server.etcd_endpoint}"

    def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "gateway", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    with server.cluster() as cluster:
        install(cluster, definition("integer"))
        ask(cluster, "POST", WIDGETS, widget(1))
        one = f"--control-plane={cluster.name}"
        assert run("backup", file, one, flag)[0] == 0
        assert f"of the control plane {cluster.name} under {PREFIX}" in run("restore", "--check", file)[1]
        ask(cluster, "DELETE", f"{WIDGETS}/w")
        for words, said in (
            (("--replace",), "add --control-plane=NAME to restore it there"),
            ((one,), "add --replace to delete all objects"),
            (("--replace", "--control-plane=absent"), "there is no control plane absent"),
        ):
            code, text = run("restore", file, flag, *words)
            assert code and said in text
        code, text = run("restore", file, flag, one, "--replace")
        assert code == 0 and f"keys of {cluster.name}, at revision" in text
        assert wait_for(cluster, f"{WIDGETS}/w", bool)["spec"] == {"size": 1}
        assert run("backup", file, flag, "--overwrite")[0] == 0
        assert "the file has no control plane" in run("restore", file, flag, one, "--replace")[1]
