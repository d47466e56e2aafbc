"""Generate storage/etcd/generated/ from proto/etcd/*.proto; with --check, say whether it is up to date.

The output differs from protoc's own in three ways. It does not demand the protobuf and grpcio releases it was made
with, so that it runs with every release pyproject.toml allows. Its descriptors live in a pool of their own, so that
another etcd client with descriptors of the same names can be imported into the same process. And the service stubs
hold nothing but typed multi-callables for grpc.aio.

Every file names the digest of what it was made from and the digest of its own text: the check compares those, and so
does not depend on the tools' version, nor need them.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto" / "etcd"
OUTPUT = ROOT / "storage" / "etcd" / "generated"
PACKAGE = "storage.etcd.generated"
HEADER = re.compile(r"# Made by hack/proto.py\. sources: (\w+) text: (\w+)\n")


def main(arguments: list[str]) -> int:
    """Generate, or check when the only argument is --check; the process's exit status comes out."""
    if arguments == ["--check"]:
        stale = [path.name for path in expected_files() if not is_fresh(path)]
        for name in stale:
            print(f"{OUTPUT.relative_to(ROOT) / name} is not what proto/ says: run `make proto`", file=sys.stderr)
        return 1 if stale else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    generate()
    return 0


def protos() -> list[Path]:
    return sorted(SOURCES.glob("*.proto"))


def expected_files() -> list[Path]:
    modules = [OUTPUT / f"{proto.stem}_pb2{suffix}" for proto in protos() for suffix in (".py", ".pyi")]
    return [OUTPUT / "__init__.py", OUTPUT / "stubs.py", *modules]


def is_fresh(path: Path) -> bool:
    if not path.exists():
        return False
    text = path.read_text()
    header = HEADER.match(text)
    return header is not None and header.groups() == (sources_digest(), digest(text[header.end() :].encode()))


def sources_digest() -> str:
    return digest(b"".join(path.read_bytes() for path in [*protos(), Path(__file__)]))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def generate() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        descriptors = compile_protos(Path(scratch))
        OUTPUT.mkdir(parents=True, exist_ok=True)
        write(OUTPUT / "__init__.py", INIT)
        write(OUTPUT / "stubs.py", stubs(descriptors))
        for proto in protos():
            for suffix in (".py", ".pyi"):
                name = f"{proto.stem}_pb2{suffix}"
                write(OUTPUT / name, relocated((Path(scratch) / name).read_text()))


def compile_protos(scratch: Path) -> FileDescriptorSet:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from grpc_tools import protoc

    outputs = [f"--python_out={scratch}", f"--pyi_out={scratch}", f"--descriptor_set_out={scratch}/set"]
    if protoc.main(["protoc", f"-I{SOURCES}", *outputs, *(path.name for path in protos())]) != 0:
        raise SystemExit("protoc failed")
    return FileDescriptorSet.FromString((scratch / "set").read_bytes())


def write(path: Path, text: str) -> None:
    path.write_text(f"# Made by hack/proto.py. sources: {sources_digest()} text: {digest(text.encode())}\n{text}")


def relocated(text: str) -> str:
    """protoc's text without its demands on versions, importing its neighbours from the package, with our pool."""
    text = re.sub(r"^from google\.protobuf import runtime_version .*\n", "", text, flags=re.M)
    text = re.sub(r"^_runtime_version\.Validate.*?^\)\n", "", text, flags=re.M | re.S)
    text = re.sub(r"^# Protobuf Python Version.*\n", "", text, flags=re.M)
    text = re.sub(r"^import (\w+_pb2) as", r"from . import \1 as", text, flags=re.M)
    text = re.sub(r"^from google\.protobuf import descriptor_pool .*", "from . import POOL as _POOL", text, flags=re.M)
    text = text.replace("_descriptor_pool.Default()", "_POOL")
    return re.sub(r"(DescriptorsAndMessages\(DESCRIPTOR, ')", rf"\g<1>{PACKAGE}.", text)


INIT = '''"""Messages and service stubs of etcd's v3 API, generated from proto/etcd."""

from google.protobuf.descriptor_pool import DescriptorPool

POOL = DescriptorPool()
'''

STUBS_HEAD = '''"""The services' methods as multi-callables of one channel."""

from __future__ import annotations

import grpc.aio

from . import rpc_pb2
'''


def stubs(descriptors: FileDescriptorSet) -> str:
    classes = [stub_class(file, index) for file in descriptors.file for index in range(len(file.service))]
    return STUBS_HEAD + "".join(classes)


def stub_class(file: FileDescriptorProto, index: int) -> str:
    service = file.service[index]
    lines = [f"\n\nclass {service.name}Stub:\n    def __init__(self, channel: grpc.aio.Channel) -> None:\n"]
    lines += [stub_method(f"/{file.package}.{service.name}", method) for method in service.method]
    return "".join(lines)


def stub_method(service: str, method: MethodDescriptorProto) -> str:
    streams = method.client_streaming, method.server_streaming
    shape = "_".join("stream" if stream else "unary" for stream in streams)
    kind = "".join("Stream" if stream else "Unary" for stream in streams)
    request, response = (name.rpartition(".")[2] for name in (method.input_type, method.output_type))
    return (
        f"        self.{method.name}: grpc.aio.{kind}MultiCallable[rpc_pb2.{request}, rpc_pb2.{response}] = (\n"
        f"            channel.{shape}(\n"
        f'                "{service}/{method.name}",\n'
        f"                request_serializer=rpc_pb2.{request}.SerializeToString,\n"
        f"                response_deserializer=rpc_pb2.{response}.FromString,\n"
        f"            )\n"
        f"        )\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
