"""The bytes of a usual write's transaction: those of protobuf's messages."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from storage.etcd import kv
from storage.etcd.generated import rpc_pb2
from storage.etcd.swap_request import MOST_KEY, SwapRequest

SIZES = st.sampled_from([1, 100, 127, 128, 129, 16_200, 16_383, 16_384, 2_097_152]).flatmap(
    lambda edge: st.integers(max(1, edge - 140), edge + 20)
)
NUMBERS = st.integers(0, 300) | st.integers(0, 2**63 - 1)


@given(st.binary(min_size=1, max_size=MOST_KEY), SIZES, NUMBERS, NUMBERS)
@example(b"k" * MOST_KEY, 1 << 22, 2**63 - 1, 2**63 - 1)
def test_a_swap_has_the_bytes_of_its_messages(key: bytes, size: int, revision: int, lease: int) -> None:
    value = bytes(size)
    message = kv._swap(key, revision, None)
    kv._put_value(message, key, value, lease)
    written = SwapRequest(key, value, revision, lease).SerializeToString()
    assert written == message.SerializeToString()
    assert rpc_pb2.TxnRequest.FromString(written) == message


@given(st.binary(max_size=MOST_KEY * 2), st.binary(max_size=3), NUMBERS, st.booleans(), st.booleans())
def test_a_usual_write_alone_is_made_as_bytes(
    key: bytes, value: bytes, revision: int, guarded: bool, beside: bool
) -> None:
    guard = kv.Guard(b"fence", 7) if guarded else None
    others = [kv.Beside(b"other", b"value", 3)] if beside else []
    made = kv._setting(key, value, revision, 0, guard, others)
    usual = 0 < len(key) <= MOST_KEY and value and not guarded and not beside
    assert isinstance(made, SwapRequest) == bool(usual)
    message = kv._swap(key, revision, guard)
    kv._put_value(message, key, value, 0)
    kv._add(others, message)
    assert made.SerializeToString() == message.SerializeToString()
