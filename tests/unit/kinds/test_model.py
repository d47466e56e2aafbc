"""Models: the properties of a kind are found on the resources that serve it."""

from gateway.jsontypes import JsonObject
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.model import Model, Version
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import Strategy
from gateway.schema.decode import DecodeReport
from gateway.schema.types import Field, Omit, Type, TypeKind

REGISTRY = builtin_registry()


def resource(group: str, version: str, plural: str, subresource: str = "") -> Resource:
    found = REGISTRY.get(group, version, plural, subresource)
    assert found is not None
    return found


def test_identities_are_read_and_written() -> None:
    assert GroupVersion.parse("apps/v1") == ("apps", "v1")
    assert GroupVersion.parse("v1") == ("", "v1")
    assert [str(GroupVersion.parse(text)) for text in ("apps/v1", "v1")] == ["apps/v1", "v1"]
    scale = resource("apps", "v1", "deployments", "scale")
    assert scale.gvr == GroupVersionResource("apps", "v1", "deployments")
    assert scale.gvk == GroupVersionKind("autoscaling", "v1", "Scale")
    assert str(scale.gvr.group_resource) == "deployments.apps"


def test_a_subresource_has_the_model_of_its_parent_and_the_type_of_its_own_kind() -> None:
    deployments, scale = resource("apps", "v1", "deployments"), resource("apps", "v1", "deployments", "scale")
    assert scale.model is deployments.model
    assert (deployments.type.name, scale.type.name) == ("v1.Deployment", "v1.Scale")
    assert resource("apps", "v1", "deployments", "status").type is deployments.type


def test_versions_that_share_storage_share_a_model_in_any_group() -> None:
    core, new = resource("", "v1", "events"), resource("events.k8s.io", "v1", "events")
    assert core.model is new.model
    assert core.model.stored.gvk == GroupVersionKind("", "v1", "Event")
    assert core.model_version is not new.model_version
    assert "regarding.name" in new.model_version.selectable.names
    assert resource("autoscaling", "v1", "horizontalpodautoscalers").storage_version == "autoscaling/v2"


def test_every_resource_finds_its_version_type_and_strategy() -> None:
    for each in REGISTRY.resources.values():
        assert each.model.versions[GroupVersion(each.group, each.version)] is each.model_version
        assert each.type.kind is TypeKind.STRUCT
        assert isinstance(each.strategy, Strategy)
        assert bool(each.storage_version) == bool(each.storage_prefix)
        if each.kind == each.model.kind:
            assert each.type is each.model_version.type


def test_a_model_converts_between_its_versions() -> None:
    model = resource("", "v1", "events").model
    event = {"kind": "Event", "apiVersion": "v1", "metadata": {"name": "e"}, "message": "m"}
    converted = model.convert(event, GroupVersion("", "v1"), GroupVersion("events.k8s.io", "v1"))
    assert (converted["apiVersion"], converted["note"]) == ("events.k8s.io/v1", "m")


def test_deprecated_versions_have_a_warning() -> None:
    warned = {each.qualified for each in REGISTRY.resources.values() if each.model_version.warning}
    assert warned == {"componentstatuses", "endpoints"}


def test_a_version_defaults_and_decodes() -> None:
    version = resource("apps", "v1", "deployments").model_version
    obj = version.decode({"metadata": {"name": "d"}, "spec": {"replicas": None}}, DecodeReport())
    version.default(obj)
    assert obj["spec"]["replicas"] == 1


def custom_model() -> Model:
    def make() -> Type:
        string = Type(TypeKind.STRING, "string")
        return Type(TypeKind.STRUCT, "W", fields={"color": Field("color", "Color", string, Omit.EMPTY)})

    def default(obj: JsonObject) -> None:
        obj.setdefault("color", "red")

    names = {version: GroupVersion("e.com", version) for version in ("v1", "v1beta1")}
    versions = {
        each: Version(GroupVersionKind(*each, "W"), make, warning=warning, default=default)
        for each, warning in ((names["v1"], ""), (names["v1beta1"], "old"))
    }
    return Model("e.com", "ws", "W", True, names["v1"], versions, storage_prefix="e.com/ws")


def test_a_definition_makes_a_model_of_its_own() -> None:
    model = custom_model()
    served = Resource(model, "e.com", "v1beta1", "ws", "W", "e.com", "v1beta1", frozenset({"get"}))
    assert served.type is served.type
    assert served.model_version.order is not None
    assert (served.storage_version, served.model_version.warning) == ("e.com/v1", "old")
    obj = served.model_version.decode({"shape": "round"}, DecodeReport())
    served.model_version.default(obj)
    converted = model.convert(obj, GroupVersion("e.com", "v1beta1"), model.storage_version)
    assert converted == {"color": "red", "apiVersion": "e.com/v1"}
    assert served.strategy == Strategy()
