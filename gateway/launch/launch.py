"""From settings to a running server: etcd where one is wanted, certificates, the socket, a kubeconfig, the processes.

What takes longest goes side by side: etcd starts, and a process makes keys, while the application is imported.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from gateway.credentials.certificates import Certificates, context_of, ensure_certificates
from gateway.credentials.front_proxy import ensure_front_proxy
from gateway.credentials.kubeconfig import write_kubeconfig
from gateway.files import words
from gateway.launch.descriptors import raise_descriptor_limit
from gateway.launch.forked import Forked
from gateway.launch.patient import PATIENCE, still_waiting
from gateway.launch.preflight import check_files, identity_secret, resolved
from gateway.launch.stopping import StopGuard
from gateway.observability import logs
from gateway.settings.config import Settings
from gateway.version import GIT_VERSION

if TYPE_CHECKING:
    from gateway.launch.ports import Listening

logger = logging.getLogger("gateway")

Made = TypeVar("Made")

_NO_STRANGERS = 0o022  # the least that a umask keeps from others: to write
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})


class LaunchError(Exception):
    """The server cannot start, or cannot go on; the message says why, in one line."""


class Ending:
    """Why the server has to end before anybody tells it to."""

    def __init__(self) -> None:
        self.reason = ""
        self.orphaned = False  # who started it is gone

    def begin(self, reason: str) -> None:
        """Has the server stop, as SIGTERM does, and exit with 1. Can be called in any thread."""
        logger.error("ending: %s", reason)
        self.reason = self.reason or reason
        os.kill(os.getpid(), signal.SIGTERM)


def launch(settings: Settings, control: int | None = None, throw_away: str | None = None) -> int:
    """Runs the server until it is told to stop; returns the exit status. Raises LaunchError and InvalidSettings.

    `control` is a socket of somebody who waits for this server: it gets a line when the server is ready, and the
    server stops when the other end is closed. It then removes the directory `throw_away`, which would be the starter's.
    """
    logs.configure(settings.log_format, settings.v)
    os.umask(os.umask(_NO_STRANGERS) | _NO_STRANGERS)
    _check_controllers(settings)
    raise_descriptor_limit()
    guard = StopGuard(settings.shutdown_delay_duration + settings.shutdown_timeout) if settings.workers == 1 else None
    ending = Ending()
    check_files(settings)
    advertised = settings.advertise_address
    settings = replace(settings, advertise_address=resolved(advertised))
    identity = Forked(lambda: _identity(settings, advertised), () if control is None else (control,))
    if control is not None:
        threading.Thread(target=_stop_with, args=(control, ending), name="control", daemon=True).start()
    try:
        with ExitStack() as stack, identity:
            prepared, listening, context, ca = _prepared(settings, identity, stack, ending)
            ready = _announcement(prepared, ca, control, ending)
            status = _run(prepared, listening, context, ready, guard)
    finally:
        if ending.orphaned and throw_away:
            shutil.rmtree(throw_away, ignore_errors=True)
    if ending.reason:
        raise LaunchError(ending.reason)
    return status


def _check_controllers(settings: Settings) -> None:
    """Raises InvalidSettings."""
    from gateway.controllers.table import wanted

    wanted(settings.controllers)


def _run(
    settings: Settings,
    listening: Listening,
    context: ssl.SSLContext,
    ready: Callable[[], None],
    guard: StopGuard | None,
) -> int:
    from gateway.launch.process import CannotServe, serve
    from gateway.launch.workers import HOPELESS, Supervisor

    if settings.workers > 1:

        def work(tell_ready: Callable[[], None]) -> int:
            with listening.another() as listener:
                try:
                    return serve(settings, context, listener, tell_ready, siblings=Path(sockets))
                except CannotServe as error:
                    logger.error("%s", error)
                    return 1 if error.passing else HOPELESS

        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="apiserver-gateway-") as sockets:
            return Supervisor(settings.workers, work, settings.shutdown_delay_duration).run(ready)
    try:
        return serve(settings, context, listening.held, ready, guard)
    except CannotServe as error:
        raise LaunchError(str(error)) from None


def _prepared(
    settings: Settings, identity: Forked[tuple[Certificates, str]], stack: ExitStack, ending: Ending
) -> tuple[Settings, Listening, ssl.SSLContext, bytes]:
    """Does all that comes before serving; the settings then name the real port, etcd's endpoint and the token."""
    with ThreadPoolExecutor(1) as pool:
        etcd = _started_etcd(settings, stack, pool, ending) if settings.embedded_etcd else None
        from gateway.launch import process  # noqa: F401  # imports the application
        from gateway.launch.ports import listen

        try:
            listening = stack.enter_context(listen(settings.bind_address, settings.secure_port, settings.workers > 1))
        except OSError as error:
            reason = error.strerror or error
            raise LaunchError(f"cannot listen on {settings.bind_address}:{settings.secure_port}: {reason}") from None
        settings = replace(settings, secure_port=listening.port)
        if etcd is not None:
            settings = replace(settings, etcd_servers=(_result(etcd, "etcd"),))
        made, token = _result(identity, "--cert-dir", settings.cert_dir)
        if settings.kubeconfig_out or not settings.token_auth_file:
            settings = replace(settings, admin_token=token)
        if settings.client_ca_file is None and settings.tls_cert_file is None:
            settings = replace(settings, client_ca_file=made.ca)
        try:
            context = context_of(settings, made.certificate, made.key)
            ca = made.ca.read_bytes()
        except (OSError, ssl.SSLError) as error:
            raise LaunchError(f"cannot use {made.certificate} and {made.key}: {error}") from None
    return settings, listening, context, ca


def _started_etcd(settings: Settings, stack: ExitStack, pool: ThreadPoolExecutor, ending: Ending) -> Future[str]:
    """Starts an etcd in the background, and again whenever it ends; the future has its endpoint."""
    from storage.embedded import EmbeddedEtcd, EmbeddedEtcdError, Supervised

    def lost(reason: str) -> None:
        ending.begin(f"the embedded etcd ended and cannot be started again: {reason}")

    def start() -> str:
        try:
            etcd = EmbeddedEtcd(settings.data_dir)
            stack.callback(etcd.close)
            etcd.start()
        except EmbeddedEtcdError as error:
            raise LaunchError(f"the embedded etcd did not start: {error}") from None
        stack.callback(Supervised(etcd, lost).close)
        return etcd.endpoint

    return pool.submit(start)


BESIDE = {"etcd": "the embedded etcd to start", "--cert-dir": "keys and certificates"}


def _result(begun: Future[Made] | Forked[Made], what: str, place: Path | None = None) -> Made:
    """What was begun beside; says in the log what that is while it takes long."""
    since = time.monotonic()
    while not (begun.wait(PATIENCE) if isinstance(begun, Forked) else wait([begun], PATIENCE).done):
        still_waiting(BESIDE[what], time.monotonic() - since)
    try:
        return begun.result()
    except OSError as error:
        raise LaunchError(f"{what}: cannot use {words(error, place)}") from None
    except ValueError as error:
        raise LaunchError(f"{what}: {' '.join(str(error).split())}") from None


def _identity(settings: Settings, advertised: str) -> tuple[Certificates, str]:
    """The certificate to serve with, given or generated, and the administrator's token."""
    if settings.identity_key_file:
        from gateway.credentials.identity import IdentityError, take_shared

        try:
            take_shared(settings, identity_secret(settings.identity_key_file))
        except IdentityError as error:
            raise LaunchError(str(error)) from None
    if settings.tls_cert_file and settings.tls_private_key_file:
        made = Certificates(settings.tls_cert_file, settings.tls_cert_file, settings.tls_private_key_file)
    else:
        external = urlsplit(settings.kubeconfig_server).hostname or ""
        names = {settings.bind_address, advertised, settings.advertise_address, _service_address(settings), external}
        made = ensure_certificates(settings.cert_dir, {*names, *settings.tls_san} - _ANY_ADDRESS)
    if settings.proxy_client_cert_file is None:
        with suppress(OSError):  # who gives all keys by flags may have a directory that can't be written
            ensure_front_proxy(settings.cert_dir)
    token = settings.admin_token
    if not token and (settings.kubeconfig_out or not settings.token_auth_file):
        from gateway.credentials.identity import kept_token

        token = kept_token(settings.cert_dir)
    if settings.service_account_signing_key_file is None:
        _check_own_key(settings)
    return made, token


def _check_own_key(settings: Settings) -> None:
    """Has the key that signs tokens be there, so that nobody waits for it later. Raises OSError, ValueError."""
    from gateway.access.keys import KEY_FILE, signing_key

    try:
        signing_key(settings)
    except (TypeError, ValueError) as error:  # TypeError is of a key with a password
        raise ValueError(f"{settings.cert_dir / KEY_FILE}: {error}") from None


def _service_address(settings: Settings) -> str:
    """The cluster IP of the service `kubernetes`: the first of the range."""
    from ipaddress import ip_network

    return str(ip_network(settings.service_cluster_ip_range.partition(",")[0])[1])


def _announcement(settings: Settings, ca: bytes, control: int | None, ending: Ending) -> Callable[[], None]:
    """What is done once requests are answered: the kubeconfig, the log line, the word to who waits."""
    host = "127.0.0.1" if settings.bind_address in _ANY_ADDRESS else settings.bind_address
    url = f"https://[{host}]:{settings.secure_port}" if ":" in host else f"https://{host}:{settings.secure_port}"

    def announce() -> None:
        from gateway.launch.process import milliseconds_since_start

        if settings.kubeconfig_out:
            try:
                server = settings.kubeconfig_server or url
                write_kubeconfig(settings.kubeconfig_out, server, ca, settings.admin_token)
            except OSError as error:
                ending.begin(f"--kubeconfig-out: cannot write {words(error, settings.kubeconfig_out)}")
                return
        logger.info("ready", extra={"address": url, "milliseconds": milliseconds_since_start(), **_said_of(settings)})
        if settings.embedded_etcd and settings.kubeconfig_out and settings.log_format == "text":
            _say_what_to_type(settings, settings.kubeconfig_out)
        if control is not None:
            os.write(control, f"{url} {settings.admin_token} {','.join(settings.etcd_servers)}\n".encode())

    return announce


def _said_of(settings: Settings) -> dict[str, object]:
    """What the first line of the log tells of a server."""
    data = {"data": str(settings.data_dir or "temporary")} if settings.embedded_etcd else {}
    modes = ",".join(settings.authorization_mode) or "RBAC"
    workers = {"workers": settings.workers} if settings.workers > 1 else {}
    return {"version": GIT_VERSION, "etcd": ",".join(settings.etcd_servers), **data, "authorization": modes, **workers}


def _say_what_to_type(settings: Settings, kubeconfig: Path) -> None:
    kept = f"its data stays in {settings.data_dir}" if settings.data_dir else "its data goes with it"
    print(
        f"\nThe server is running. In another terminal:\n\n  export KUBECONFIG={kubeconfig.absolute()}\n"
        f"  kubectl get namespaces\n\nCtrl-C ends it; {kept}.\n",
        flush=True,
    )


def _stop_with(control: int, ending: Ending) -> None:
    """Waits until the other end of the socket is closed, then has this process stop."""
    with socket.socket(fileno=os.dup(control)) as other_end:
        while other_end.recv(1):
            pass
    ending.orphaned = True
    os.kill(os.getpid(), signal.SIGTERM)
