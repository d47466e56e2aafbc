"""From settings to a running server: etcd where one is wanted, certificates, the socket, a kubeconfig, the processes.

What takes longest goes side by side: etcd starts, and keys are made, while the application is imported.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gateway.certificates import Certificates, ensure_certificates, server_context
from gateway.config import Settings
from gateway.descriptors import raise_descriptor_limit
from gateway.kubeconfig import write_kubeconfig
from gateway.observability import logs
from gateway.stopping import StopGuard

if TYPE_CHECKING:
    from storage.embedded import EmbeddedEtcd

logger = logging.getLogger("gateway")

Made = TypeVar("Made")

_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::"})


class LaunchError(Exception):
    """The server cannot start; the message says why."""


def launch(settings: Settings, control: int | None = None) -> int:
    """Runs the server until it is told to stop; returns the exit status. Raises LaunchError.

    `control` is a socket of somebody who waits for this server: it gets a line when the server is ready, and the
    server stops when the other end is closed.
    """
    logs.configure(settings.log_format)
    raise_descriptor_limit()
    guard = StopGuard(settings.shutdown_timeout) if settings.workers == 1 else None
    if control is not None:
        threading.Thread(target=_stop_with, args=(control,), name="control", daemon=True).start()
    with ExitStack() as stack:
        settings, listener, context, ca = _prepared(settings, stack)
        ready = _announcement(settings, ca, control)
        if settings.workers == 1:
            from gateway.process import serve

            return serve(settings, context, listener, ready, guard)
        return _supervise(settings, context, ready)


def _prepared(settings: Settings, stack: ExitStack) -> tuple[Settings, socket.socket, ssl.SSLContext, bytes]:
    """Does all that comes before serving; the settings then name the real port and etcd's endpoint."""
    with ThreadPoolExecutor(2) as pool:
        etcd = _started_etcd(settings, stack, pool) if settings.embedded_etcd else None
        certificates = pool.submit(_certificates, settings)
        from gateway import process  # imports the application

        try:
            listener = stack.enter_context(process.bind(settings, shared=settings.workers > 1))
        except OSError as error:
            raise LaunchError(f"cannot listen on {settings.bind_address}:{settings.secure_port}: {error}") from None
        settings = replace(settings, secure_port=listener.getsockname()[1])
        if etcd is not None:
            settings = replace(settings, etcd_servers=(_result(etcd, "etcd"),))
        if settings.kubeconfig_out or not settings.token_auth_file:
            settings = replace(settings, admin_token=settings.admin_token or secrets.token_urlsafe(24))
        made = _result(certificates, "certificates")
        try:
            authorities = [each for each in (settings.client_ca_file, settings.requestheader_client_ca_file) if each]
            context = server_context(made.certificate, made.key, authorities)
            ca = made.ca.read_bytes()
        except (OSError, ssl.SSLError) as error:
            raise LaunchError(f"cannot use {made.certificate} and {made.key}: {error}") from None
    return settings, listener, context, ca


def _started_etcd(settings: Settings, stack: ExitStack, pool: ThreadPoolExecutor) -> Future[str]:
    """Starts an etcd in the background; the future has its endpoint."""
    from storage.embedded import EmbeddedEtcd, EmbeddedEtcdError

    def start() -> str:
        try:
            return _enter(stack, EmbeddedEtcd(settings.data_dir))
        except EmbeddedEtcdError as error:
            raise LaunchError(f"the embedded etcd did not start: {error}") from None

    return pool.submit(start)


def _enter(stack: ExitStack, etcd: EmbeddedEtcd) -> str:
    return stack.enter_context(etcd).endpoint


def _result(future: Future[Made], what: str) -> Made:
    try:
        return future.result()
    except OSError as error:
        raise LaunchError(f"{what}: {error}") from None


def _certificates(settings: Settings) -> Certificates:
    """The given certificate, or a generated one."""
    if settings.tls_cert_file and settings.tls_private_key_file:
        return Certificates(settings.tls_cert_file, settings.tls_cert_file, settings.tls_private_key_file)
    addresses = {settings.bind_address, settings.advertise_address, _service_address(settings)} - _ANY_ADDRESS
    return ensure_certificates(settings.cert_dir, sorted(addresses))


def _service_address(settings: Settings) -> str:
    """The cluster IP of the service `kubernetes`: the first of the range."""
    from ipaddress import ip_network

    return str(ip_network(settings.service_cluster_ip_range.partition(",")[0])[1])


def _announcement(settings: Settings, ca: bytes, control: int | None) -> Callable[[], None]:
    """What is done once requests are answered: the kubeconfig, the log line, the word to who waits."""
    host = "127.0.0.1" if settings.bind_address in _ANY_ADDRESS else settings.bind_address
    url = f"https://[{host}]:{settings.secure_port}" if ":" in host else f"https://{host}:{settings.secure_port}"

    def announce() -> None:
        from gateway.process import milliseconds_since_start

        if settings.kubeconfig_out:
            write_kubeconfig(settings.kubeconfig_out, url, ca, settings.admin_token)
        logger.info("ready", extra={"address": url, "milliseconds": milliseconds_since_start()})
        if settings.embedded_etcd and settings.kubeconfig_out:
            print(f"\n  export KUBECONFIG={settings.kubeconfig_out.absolute()}\n  kubectl get namespaces\n", flush=True)
        if control is not None:
            os.write(control, f"{url} {settings.admin_token}\n".encode())

    return announce


def _supervise(settings: Settings, context: ssl.SSLContext, ready: Callable[[], None]) -> int:
    from gateway.process import bind, serve
    from gateway.workers import Supervisor

    def work(tell_ready: Callable[[], None]) -> int:
        with bind(settings, shared=True) as listener:
            return serve(settings, context, listener, tell_ready)

    return Supervisor(settings.workers, work).run(ready)


def _stop_with(control: int) -> None:
    """Waits until the other end of the socket is closed, then has this process stop."""
    with socket.socket(fileno=os.dup(control)) as other_end:
        while other_end.recv(1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
