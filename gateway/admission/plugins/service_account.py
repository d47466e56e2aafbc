"""ServiceAccount: a pod runs as a service account of its namespace and gets its token (page "Service Accounts")."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Found
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import core
from gateway.kinds.metadata import generated_name
from gateway.kinds.objects import Objects

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3607
ATTEMPTS, PAUSE = 30, 0.05  # seconds
_VOLUME_PREFIX = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCE_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_DEFAULT_MODE = 0o644
_ACCOUNTS = core("serviceaccounts")
_MANY = 500  # containers that take a few milliseconds


def _admit(admission: Admission, objects: Objects) -> Found:
    obj, old = admission.obj, admission.old
    if obj is None or old is not None:
        return None
    if _is_mirror(obj):
        return _validate(admission, objects)
    spec = {**(obj.get("spec") or {})}
    spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccountName") or "default"
    return _with_account({**obj, "spec": spec}, admission, objects, _complete)


def _complete(pod: JsonObject, account: JsonObject, admission: Admission) -> Found:
    """Gives a copy of a pod, whose spec may be changed, the imagePullSecrets and the token of its account. Mounts the
    token in steps if there are very many containers.
    """
    spec = pod["spec"]
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in account["imagePullSecrets"]]
    _check(pod, account, admission)
    return _mount_token(pod, spec, admission) if _automounts(account, spec) else admission.changed(pod)


def _validate(admission: Admission, objects: Objects) -> Found:
    obj, old = admission.obj, admission.old
    if obj is None or (old is not None and admission.subresource != "ephemeralcontainers"):
        return None
    spec = obj.get("spec") or {}
    if old is None and _is_mirror(obj):
        _check_mirror(obj, spec, admission)
        return None
    if not spec.get("serviceAccountName"):
        name = obj["metadata"].get("name", "")
        raise refused(admission, obj, f"no service account specified for pod {admission.namespace}/{name}")
    return _with_account(obj, admission, objects, _check)


def _check(obj: JsonObject, account: JsonObject, admission: Admission) -> None:
    """Raises StatusError 403 for secrets that the account does not allow."""
    enforced = (account["metadata"].get("annotations") or {}).get(_ENFORCE_SECRETS, "")
    if enforced in ("1", "t", "T", "true", "TRUE", "True"):
        problem = _forbidden_secret(obj["spec"], account, ephemeral=admission.old is not None)
        if problem:
            raise refused(admission, obj, problem)


def _is_mirror(pod: JsonObject) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _with_account(
    obj: JsonObject,
    admission: Admission,
    objects: Objects,
    use: Callable[[JsonObject, JsonObject, Admission], Found],
) -> Found:
    """Calls `use` with the pod and its account: at once if the cache has the account, else in an awaitable."""
    account = objects.cached(_ACCOUNTS, admission.namespace, obj["spec"]["serviceAccountName"])
    if account is not None:
        return use(obj, account, admission)

    async def later() -> Admission | None:
        found = use(obj, await _account(obj, admission, objects), admission)
        return found if found is None or isinstance(found, Admission) else await found

    return later()


async def _account(pod: JsonObject, admission: Admission, objects: Objects) -> JsonObject:
    """The pod's account. Waits for the account `default`, which a new namespace gets late, as kube-apiserver does.

    Raises StatusError 403 if there is no such account.
    """
    name = pod["spec"]["serviceAccountName"]
    account = await objects.get(_ACCOUNTS, admission.namespace, name)
    for _ in range(ATTEMPTS if name == "default" else 0):
        if account is not None:
            break
        await asyncio.sleep(PAUSE)
        account = await objects.get(_ACCOUNTS, admission.namespace, name)
    if account is None:
        missing = f'serviceaccount "{name}" not found'
        where = f"{admission.namespace}/{name}"
        raise refused(admission, pod, f"error looking up service account {where}: {missing}")
    return account


def _automounts(account: JsonObject, spec: JsonObject) -> bool:
    for chooser in (spec, account):
        choice = chooser.get("automountServiceAccountToken")
        if choice is not None:
            return bool(choice)
    return True


def _volume_name(admission: Admission) -> str:
    """A random name for the token's volume; it is kept with the spec."""
    return admission.of_spec("volume of the token", lambda: generated_name(_VOLUME_PREFIX))


def _mount_token(pod: JsonObject, spec: JsonObject, admission: Admission) -> Found:
    """Mounts the token in the containers of `spec`, which is that of `pod` and may be changed."""
    volumes = spec.get("volumes") or []
    present = next((v["name"] for v in volumes if v.get("name", "").startswith(_VOLUME_PREFIX)), "")
    name = present or _volume_name(admission)
    lists = [key for key in ("initContainers", "containers") if spec.get(key)]

    def settled(mounts: bool) -> Admission:
        if mounts and not present:
            spec["volumes"] = [*volumes, {"name": name, "projected": _token_source()}]
        return admission.changed(pod)

    async def in_steps() -> Admission:
        mounts = False
        for key in lists:
            made, given = list[JsonObject](), spec[key]
            for at in range(0, len(given), _MANY):
                made += [_mounting(each, name) for each in given[at : at + _MANY]]
                await asyncio.sleep(0)
            mounts = mounts or any(map(operator.is_not, made, given))
            spec[key] = made
        return settled(mounts)

    if sum(len(spec[key]) for key in lists) > _MANY:
        return in_steps()
    mounts = False
    for key in lists:
        given = spec[key]
        spec[key] = made = [_mounting(each, name) for each in given]
        mounts = mounts or any(map(operator.is_not, made, given))
    return settled(mounts)


def _mounting(container: JsonObject, name: str) -> JsonObject:
    """A copy of a container that mounts the token's volume; the same one if another is mounted at its path."""
    mounts = container.get("volumeMounts") or []
    if any(mount.get("mountPath") == MOUNT_PATH for mount in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]}


def _token_source() -> JsonObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": _DEFAULT_MODE,
    }


def _check_mirror(pod: JsonObject, spec: JsonObject, admission: Admission) -> None:
    if spec.get("serviceAccountName"):
        raise refused(admission, pod, "a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or ()
    if any(volume.get("secret") for volume in volumes) or any(_secrets_of_containers(spec)):
        raise refused(admission, pod, "a mirror pod may not reference secrets")
    for volume in volumes:
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken"):
                raise refused(admission, pod, "a mirror pod may not use ServiceAccountToken volume projections")


_KINDS = {"initContainers": "init container", "containers": "container", "ephemeralContainers": "ephemeral container"}


def _secrets_of_containers(spec: JsonObject, lists: tuple[str, ...] = tuple(_KINDS)) -> Iterator[tuple[str, str]]:
    """Yields a text for each place where containers refer to a secret, and the secret's name."""
    for key in lists:
        for container in spec.get(key) or ():
            where = f"{_KINDS[key]} {container.get('name', '')}"
            for variable in container.get("env") or ():
                reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
                if reference:
                    at = f"{where} with envVar {variable.get('name', '')} referencing"
                    yield at, reference.get("name", "")
            for source in container.get("envFrom") or ():
                if source.get("secretRef"):
                    yield f"{where} with envFrom referencing", source["secretRef"].get("name", "")


def _forbidden_secret(spec: JsonObject, account: JsonObject, *, ephemeral: bool) -> str:
    """The refusal of a secret that the account does not list; "" if all secrets are listed."""
    name = account["metadata"]["name"]
    mountable = {each.get("name") for each in account.get("secrets") or ()}
    lists = ("ephemeralContainers",) if ephemeral else ("initContainers", "containers")
    refusal = f"is not allowed because service account {name} does not reference that"
    if not ephemeral:
        for volume in spec.get("volumes") or ():
            secret = (volume.get("secret") or {}).get("secretName")
            if secret is not None and secret not in mountable:
                return f'volume with secret.secretName="{secret}" {refusal} secret'
    for where, secret in _secrets_of_containers(spec, lists):
        if secret not in mountable:
            return f'{where} secret.secretName="{secret}" {refusal} secret'
    pullable = {each.get("name") for each in account.get("imagePullSecrets") or ()}
    for index, reference in enumerate([] if ephemeral else spec.get("imagePullSecrets") or ()):
        if reference.get("name") not in pullable:
            return f'imagePullSecrets[{index}].name="{reference.get("name", "")}" {refusal} imagePullSecret'
    return ""


PLUGIN = Plugin(
    "ServiceAccount",
    on("/pods", "/pods/ephemeralcontainers", operations=(Operation.CREATE, Operation.UPDATE)),
    looking_up(admit=_admit, validate=_validate),
)
