"""Starts a server: the embedded etcd, certificates, the socket, the processes, and the kubeconfig.

The slow steps run in parallel: etcd starts and a child process makes keys while this process imports the application.
"""

from __future__ import annotations

import errno
import logging
import os
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

from apiserver_gateway.throwaway import move_in, remove
from gateway.credentials.certificates import CertificateFiles, context_of, wrong_dates
from gateway.credentials.kubeconfig import write_kubeconfig
from gateway.files import words
from gateway.launch.descriptors import raise_descriptor_limit, write_no_core_files
from gateway.launch.errors import LaunchError, StopRequested
from gateway.launch.forked_call import ForkedCall
from gateway.launch.identity import identity_of
from gateway.launch.patient import LOG_INTERVAL, still_waiting
from gateway.launch.preflight import check_files, resolved
from gateway.launch.service_notification import READY, notify
from gateway.launch.start_lines import said_of, say_start
from gateway.launch.stop_guard import StopGuard
from gateway.observability import logs
from gateway.settings.config import Settings

if TYPE_CHECKING:
    from gateway.launch.feeder_socket import Feeding
    from gateway.launch.ports import ListeningPort

logger = logging.getLogger("gateway")

Made = TypeVar("Made")

_PORT_REMEDIES = {
    errno.EADDRINUSE: "; stop the program that uses the port, or give another --secure-port (0 takes a free one)",
    errno.EADDRNOTAVAIL: "; give --bind-address an address of this machine",
    errno.EACCES: "; give a --secure-port above 1023",
}
_NO_STRANGERS = 0o022  # umask bits: group and others may never write the files of the server


class EndReason:
    """Why the server ends without a signal."""

    def __init__(self) -> None:
        self.reason = ""
        self.orphaned = False  # the process that started the server has ended

    def begin(self, reason: str) -> None:
        """Stops the server, as SIGTERM does, with exit status 1. Can be called in any thread."""
        logger.error("ending: %s", reason)
        self.reason = self.reason or reason
        os.kill(os.getpid(), signal.SIGTERM)


def launch(
    settings: Settings, control: int | None = None, throw_away: str | None = None, *, guarded: bool = True
) -> int:
    """Runs the server until the signal to stop; returns the exit status. Raises LaunchError and InvalidSettings.

    `control` is a socket to the process that started this server (the starter). The server writes a line to it when it
    is ready, and stops when the starter closes its end. The server makes the directory `throw_away`. The starter
    removes it; if the starter has ended, the server does. With `guarded` false there is no StopGuard: another process
    kills the server if it does not stop.
    """
    logs.configure(settings.log_format, settings.v, settings.vmodule)
    os.umask(os.umask(_NO_STRANGERS) | _NO_STRANGERS)
    _check_controllers(settings)
    raise_descriptor_limit()
    write_no_core_files()
    signal.signal(signal.SIGTERM, end_early)
    patience = settings.shutdown_delay_duration + settings.shutdown_timeout
    guard = guard_of(patience, control, throw_away) if guarded and settings.workers == 1 else None
    if throw_away:
        move_in(Path(throw_away))
    ending = EndReason()
    check_files(settings)
    say_start(settings)
    advertised = settings.advertise_address
    settings = replace(settings, advertise_address=resolved(advertised))
    identity = ForkedCall(lambda: identity_of(settings, advertised), () if control is None else (control,))
    try:
        with ExitStack() as stack, identity:
            if control is not None:
                threading.Thread(target=_stop_with, args=(control, ending), name="control", daemon=True).start()
            prepared, listening, context, ca = _prepared(settings, identity, stack, ending)
            ready = _announcement(prepared, ca, control, ending)
            try:
                status = _run(prepared, listening, context, ready, guard)
            finally:
                signal.signal(signal.SIGTERM, _pass_over)  # a second signal may not interrupt the cleanup
    finally:
        if ending.orphaned and throw_away:
            remove(Path(throw_away))
    if ending.reason:
        raise LaunchError(ending.reason)
    return status


def end_early(*_: object) -> None:
    """Signal handler of the start: raises SystemExit, so that the start cleans up. Serving has its own handler."""
    signal.signal(signal.SIGTERM, _pass_over)
    raise SystemExit(128 + signal.SIGTERM)


def _pass_over(*_: object) -> None:
    """Signal handler that does nothing. SIG_IGN would not do: child processes, such as etcd's shell, inherit it."""


def guard_of(patience: float, control: int | None, throw_away: str | None) -> StopGuard:
    """A StopGuard that kills this process `patience` seconds after a signal to stop.

    It also removes the directory `throw_away` after this process has ended and the starter has closed its end of
    `control`.
    """

    def ended() -> None:
        if throw_away and control is not None and _is_alone(control):
            remove(Path(throw_away))

    return StopGuard(patience, ended)


def _is_alone(control: int) -> bool:
    """Waits until the starter closes its end of the socket or sends a byte. True if it closed it. A byte means that the
    starter wants to keep the directory.
    """
    with socket.socket(fileno=os.dup(control)) as ours:
        ours.setblocking(True)
        with suppress(OSError):
            ours.shutdown(socket.SHUT_WR)  # the starter, if it still reads, gets an end of file
        try:
            return not ours.recv(1, socket.MSG_PEEK)
        except ConnectionResetError:  # the starter closed its end before it had read all that we sent
            return True


def _check_controllers(settings: Settings) -> None:
    """Raises InvalidSettings for unknown names in --controllers."""
    from gateway.controllers.table import wanted

    wanted(settings.controllers)


def _run(
    settings: Settings,
    listening: ListeningPort,
    context: ssl.SSLContext,
    ready: Callable[[], None],
    guard: StopGuard | None,
) -> int:
    from gateway.launch.process import CannotServe, serve
    from gateway.launch.workers import HOPELESS, ParentProcess, Supervisor

    if settings.workers > 1:
        from tempfile import TemporaryDirectory

        def work(parent: ParentProcess) -> int:
            with listening.another() as listener:
                try:
                    feeder = None if feeding is None else feeding.path
                    return serve(
                        settings,
                        context,
                        listener,
                        parent.ready,
                        beat=parent.beat,
                        others=parent.others,
                        siblings=siblings,
                        feeder=feeder,
                    )
                except CannotServe as error:
                    logger.log(logging.INFO if isinstance(error, StopRequested) else logging.ERROR, "%s", error)
                    return 1 if error.passing else HOPELESS

        with TemporaryDirectory(prefix="apiserver-gateway-") as directory, ExitStack() as stack:
            siblings = Path(directory)
            feeding = _feeding(settings, siblings, stack) if settings.shared_cache else None
            beside = None if feeding is None else feeding.work
            delay = settings.shutdown_delay_duration
            return Supervisor(settings.workers, work, delay, beside, listening.leave).run(ready)
    try:
        return serve(settings, context, listening.held, ready, guard)
    except CannotServe as error:
        raise LaunchError(str(error)) from None


def _feeding(settings: Settings, siblings: Path, stack: ExitStack) -> Feeding:
    from gateway.launch.feeder_socket import Feeding

    return stack.enter_context(Feeding(settings, siblings))


def _prepared(
    settings: Settings, identity: ForkedCall[tuple[CertificateFiles, str]], stack: ExitStack, ending: EndReason
) -> tuple[Settings, ListeningPort, ssl.SSLContext, bytes]:
    """Prepares all that serving needs. Returns the settings with the real port, etcd's endpoint and the token, the
    bound socket, the TLS context, and the CA certificate in PEM. Raises LaunchError.
    """
    with ThreadPoolExecutor(1) as pool:
        etcd = _started_etcd(settings, stack, pool, ending) if settings.embedded_etcd else None
        from gateway.launch import process  # noqa: F401  # imports the application
        from gateway.launch.ports import listen

        try:
            where = settings.bind_address, settings.secure_port
            listening = stack.enter_context(listen(*where, settings.workers > 1, settings.permit_port_sharing))
        except OSError as error:
            reason = error.strerror or error
            remedy = _PORT_REMEDIES.get(error.errno or 0, "")
            at = f"{settings.bind_address}:{settings.secure_port}"
            raise LaunchError(f"cannot listen on {at}: {reason}{remedy}") from None
        settings = replace(settings, secure_port=listening.port)
        if etcd is not None:
            settings = replace(settings, etcd_servers=(_result(etcd, "etcd"),))
        shared = "etcd at " + ", ".join(settings.etcd_servers) if settings.identity_key_file else ""
        made, token = _result(identity, "--cert-dir", settings.cert_dir, shared)
        if settings.kubeconfig_out or not settings.token_auth_file:
            settings = replace(settings, admin_token=token)
        if settings.client_ca_file is None and settings.tls_cert_file is None:
            settings = replace(settings, client_ca_file=made.ca)
        try:
            context = context_of(settings, made.certificate, made.key)
            ca = made.ca.read_bytes()
            if trouble := wrong_dates(made.ca):
                logger.warning(trouble)
        except (OSError, ssl.SSLError) as error:
            raise LaunchError(f"cannot use {made.certificate} and {made.key}: {error}") from None
    return settings, listening, context, ca


def _started_etcd(settings: Settings, stack: ExitStack, pool: ThreadPoolExecutor, ending: EndReason) -> Future[str]:
    """Starts an etcd in a thread, and starts it again whenever it ends. The result of the future is its endpoint."""
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


def _result(begun: Future[Made] | ForkedCall[Made], what: str, place: Path | None = None, waits_for: str = "") -> Made:
    """The result of work in another thread or process. Logs every few seconds what the start waits for: `waits_for`, or
    the text of BESIDE for `what`. `what` and `place` begin the message of a LaunchError, which replaces OSError and
    ValueError.
    """
    since = time.monotonic()
    while not (begun.wait(LOG_INTERVAL) if isinstance(begun, ForkedCall) else wait([begun], LOG_INTERVAL).done):
        still_waiting(waits_for or BESIDE[what], time.monotonic() - since)
    try:
        return begun.result()
    except OSError as error:
        raise LaunchError(f"{what}: cannot use {words(error, place)}") from None
    except ValueError as error:
        raise LaunchError(f"{what}: {' '.join(str(error).split())}") from None


def _announcement(settings: Settings, ca: bytes, control: int | None, ending: EndReason) -> Callable[[], None]:
    """Returns a function to call when requests are answered. It writes the kubeconfig, logs "ready", and notifies the
    service manager and the process at the other end of `control`.
    """
    from gateway.launch.ports import loopback

    host = loopback(settings.bind_address)
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
        logger.info("ready", extra={"address": url, "milliseconds": milliseconds_since_start(), **said_of(settings)})
        if settings.embedded_etcd and settings.kubeconfig_out and settings.log_format == "text":
            _say_what_to_type(settings, settings.kubeconfig_out)
        notify(READY)
        if control is not None:
            os.write(control, f"{url} {settings.admin_token} {','.join(settings.etcd_servers)}\n".encode())

    return announce


def _say_what_to_type(settings: Settings, kubeconfig: Path) -> None:
    kept = f"its data stays in {settings.data_dir}" if settings.data_dir else "its data is then deleted"
    print(
        f"\nThe server is running. In another terminal:\n\n  export KUBECONFIG={kubeconfig.absolute()}\n"
        f"  kubectl get namespaces\n\nCtrl-C stops the server; {kept}.\n",
        flush=True,
    )


def _stop_with(control: int, ending: EndReason) -> None:
    """Waits until the starter closes its end of the socket, then stops this process."""
    # OSError: the connection is reset if the starter closes its end before it has read everything
    with socket.socket(fileno=os.dup(control)) as ours, suppress(OSError):
        while ours.recv(1):
            pass
    ending.orphaned = True
    os.kill(os.getpid(), signal.SIGTERM)
