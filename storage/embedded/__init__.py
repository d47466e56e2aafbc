"""An etcd as a child process, for development and tests: use `EmbeddedEtcd`. `Supervised` restarts it when it ends."""

from storage.embedded.binary import BINARY_VARIABLE, binary_version, find_binary
from storage.embedded.errors import EmbeddedEtcdError
from storage.embedded.member import EmbeddedEtcd, free_ports
from storage.embedded.supervision import Supervised

__all__ = [
    "BINARY_VARIABLE",
    "EmbeddedEtcd",
    "EmbeddedEtcdError",
    "Supervised",
    "binary_version",
    "find_binary",
    "free_ports",
]
