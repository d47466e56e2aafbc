"""The health of a pod's volumes is judged when the stored object reports it.

The expected texts were compared with kube-apiserver 1.37.2, over objects that one with the gate on had stored.
"""

from __future__ import annotations

from gateway.validation.volume_health import validate_pod_volume_health


def test_volume_health_names_volumes_of_the_pod_and_a_valid_reason() -> None:
    spec = {"volumes": [{"name": "v"}]}
    reports = [{"name": "v", "healthConditions": [{"reason": "a b"}, {"reason": "Ab"}]}, {"name": "w"}]
    first, second = map(str, validate_pod_volume_health(reports, spec))
    assert first.startswith('status.volumeHealth[0].healthConditions[0].reason: Invalid value: "a b": a condition')
    assert second == 'status.volumeHealth[1].name: Not found: "w"'
