"""--runtime-config: which built-in APIs are served, with kube-apiserver's order of precedence."""

from __future__ import annotations

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.kinds.enablement import UnknownApi, switched_off
from gateway.settings.runtime_config import overrides


def off(text: str) -> set[str]:
    registry = builtin_registry()
    return {"/".join(key) for key in switched_off(registry, overrides(text))}


def test_a_resource_goes_before_its_version_and_that_before_a_stage() -> None:
    assert off("batch/v1=false") == {"batch/v1/cronjobs", "batch/v1/jobs"}
    assert off("batch/v1=false,batch/v1/jobs=true") == {"batch/v1/cronjobs"}
    assert off("batch/v1/jobs=true,batch/v1=false") == {"batch/v1/cronjobs"}
    left = {"/".join(key[:3]) for key in builtin_registry().resources} - off("api/all=false,/v1=true,apps/v1=1")
    assert {"apps/v1/deployments", "/v1/pods"} <= left and {each.rpartition("/")[0] for each in left} == {
        "apps/v1",
        "/v1",
    }
    assert off("api/all=true,api/beta=true,api/alpha=false,apps/v1=true") == set()
    assert off("v1=false") == off("api/v1/pods=false") == off("/v1=false") and off("api/legacy=false") == set()
    assert off("autoscaling/v1=false") == {"autoscaling/v1/horizontalpodautoscalers"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apps=false", "runtime-config invalid key apps"),
        ("a/b/c/d=true", "runtime-config invalid key a/b/c/d"),
        ("api/all=false", "invalid runtime-config with only api/all=false"),
        ("api/beta=no", "invalid value api/beta=no"),
        ("apps/v1=maybe", "invalid value of apps/v1: maybe"),
        ("batch/v1/Jobs=true", 'always lowercase plural, not "Jobs"'),
    ],
)
def test_what_is_no_override_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        overrides(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("example.org/v1=true,other.org/v2=true", "unknown api groups example.org/v1,other.org/v2"),
        ("apps/v9=true", "group version apps/v9 that has not been registered"),
        ("storage.k8s.io/v1beta1=true", "storage.k8s.io/v1beta1 cannot be switched on"),
    ],
)
def test_what_is_not_there_cannot_be_switched(text: str, message: str) -> None:
    with pytest.raises(UnknownApi, match=message):
        off(text)


def test_what_this_server_does_not_have_may_be_switched_off() -> None:
    assert off("storage.k8s.io/v1beta1=false,internal.apiserver.k8s.io/v1alpha1=false") == set()
