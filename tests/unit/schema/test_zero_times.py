"""The zero time in an optional field: null, and no absent field, as recorded of kube-apiserver 1.37.2."""

from __future__ import annotations

from typing import Any

from gateway.schema.decode import DecodeReport, decode
from gateway.schema.times import instant
from gateway.validation.job_status import validate_job_status_update
from gateway.validation.objectmeta import validate_object_meta_update
from gateway.writing.unchanged_members import holds_zero_time
from tests.unit.validation.replaying import resource_of

ZERO = "0001-01-01T00:00:00Z"


def test_the_zero_time_is_kept_as_null_and_null_is_absent() -> None:
    type_ = resource_of("coordination.k8s.io/v1/leases").model_version.type
    sent = {"spec": {"renewTime": "0001-01-01T00:00:00.000000Z", "acquireTime": None}}
    assert decode(type_, sent, DecodeReport())["spec"] == {"renewTime": None}
    assert instant({"a": None}, "a") == ZERO
    assert instant({}, "a") is None


def test_a_patch_does_not_keep_a_stored_zero_time() -> None:
    type_ = resource_of("v1/nodes").model_version.type
    assert holds_zero_time(type_, b'{"spec":{"taints":[{"timeAdded":null}]}}')
    assert not holds_zero_time(type_, b'{"metadata":{"creationTimestamp":null}}')


def test_a_job_that_has_the_zero_time_has_a_time() -> None:
    complete: list[dict[str, Any]] = [{"type": t, "status": "True"} for t in ("Complete", "SuccessCriteriaMet")]
    times = {"startTime": None, "completionTime": None}
    done = {"status": {**times, "conditions": complete, "succeeded": 1}}
    assert validate_job_status_update(done, {}) == []
    found = validate_job_status_update(done, done)
    assert [error.field for error in found] == ["status.completionTime", "status.startTime"]


def test_a_client_cannot_set_a_deletion_timestamp_of_zero() -> None:
    meta = {"name": "a", "resourceVersion": "1"}
    assert validate_object_meta_update(meta, meta, standard_finalizers=False) == []
    found = validate_object_meta_update({**meta, "deletionTimestamp": None}, meta, standard_finalizers=False)
    assert [error.field for error in found][-1:] == ["metadata.deletionTimestamp"]
