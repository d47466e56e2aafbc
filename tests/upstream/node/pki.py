"""Certificates, keys and kubeconfigs of a cluster with nodes, as kubeadm makes them."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

TOKEN = "abcdef.0123456789abcdef"  # the bootstrap token of nodes

# Clients: file name, user, group.
CLIENTS = {
    "admin": ("admin", "system:masters"),
    "controllers": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "kubelet-client": ("kube-apiserver-kubelet-client", "kubelet-admins"),
}


class Keys:
    """The files in a directory; `server` is the API server's URL."""

    def __init__(self, directory: Path, server: str) -> None:
        self.directory, self._server = directory, server
        directory.mkdir(parents=True)

    def make(self, names: list[str]) -> None:
        """Creates all files; `names` are the API server's names in the form of subjectAltName."""
        for authority in ("ca", "front-ca"):
            words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", f"/CN={authority}"]
            self._openssl(*words, "-keyout", f"{authority}.key", "-out", f"{authority}.crt")
        self._openssl("genrsa", "-out", "service-accounts.key", "2048")
        self._openssl("rsa", "-in", "service-accounts.key", "-pubout", "-out", "service-accounts.pub")
        self._certificate("apiserver", "/CN=kube-apiserver", "ca", names)
        self._certificate("front-proxy-client", "/CN=front-proxy-client", "front-ca")
        for name, (user, group) in CLIENTS.items():
            self._certificate(name, f"/O={group}/CN={user}" if group else f"/CN={user}", "ca")
            files = {"certificate": f"{name}.crt", "key": f"{name}.key"}
            user_of = {f"client-{which}-data": self._encoded(file) for which, file in files.items()}
            self._kubeconfig(name, user_of)
        self._kubeconfig("bootstrap", {"token": TOKEN})

    @property
    def are_made(self) -> bool:
        """Whether the files exist."""
        return (self.directory / "ca.crt").is_file()

    def kubeconfig(self, name: str) -> Path:
        """The kubeconfig of a client, or of `bootstrap`."""
        return self.directory / f"{name}.kubeconfig"

    def _kubeconfig(self, name: str, user: dict[str, str]) -> None:
        cluster = {"server": self._server, "certificate-authority-data": self._encoded("ca.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "nodes", "cluster": cluster}],
            "users": [{"name": "nodes", "user": user}],
            "contexts": [{"name": "nodes", "context": {"cluster": "nodes", "user": "nodes"}}],
            "current-context": "nodes",
        }
        self.kubeconfig(name).write_text(json.dumps(config))

    def _certificate(self, name: str, subject: str, authority: str, names: list[str] | None = None) -> None:
        words = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", f"{name}.key"]
        self._openssl(*words, "-out", f"{name}.csr")
        extensions = "extendedKeyUsage=clientAuth,serverAuth\nkeyUsage=digitalSignature,keyEncipherment\n"
        extensions += f"subjectAltName={','.join(names)}\n" if names else ""
        (self.directory / f"{name}.ext").write_text(extensions)
        words = ["x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"]
        words += ["-CAcreateserial", "-days", "3650", "-extfile", f"{name}.ext", "-out", f"{name}.crt"]
        self._openssl(*words)

    def _encoded(self, file: str) -> str:
        return base64.b64encode((self.directory / file).read_bytes()).decode()

    def _openssl(self, *words: str) -> None:
        done = subprocess.run(["openssl", *words], cwd=self.directory, capture_output=True, text=True)
        assert done.returncode == 0, f"openssl {' '.join(words)}: {done.stderr[-500:]}"
