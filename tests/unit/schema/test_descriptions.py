"""Fields have the descriptions of the models in the installed client, in both forms of these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.kinds.builtin import builtin_registry
from gateway.openapi.documents import Documents
from gateway.openapi.meta_kinds import CORE
from gateway.openapi.schemas import _schema, schemas_of
from gateway.schema import descriptions
from gateway.schema.descriptions import description_of

THING = "io.k8s.api.core.v1.ThingDNS"

PROPERTIES = '''
class V1ThingDNS(object):
    """
    Attributes:
      openapi_types (dict): The key is attribute name
      attribute_map (dict): The key is attribute name
    """
    openapi_types = {
        'host_ipc': 'bool',
        'spec': 'V1Spec'
    }

    attribute_map = {
        'host_ipc': 'hostIPC',
        'spec': 'spec'
    }

    @property
    def host_ipc(self):
        """Gets the host_ipc of this V1ThingDNS.  # noqa: E501

        Says "so".  # noqa: E501

        :return: The host_ipc of this V1ThingDNS.  # noqa: E501
        """

    @property
    def spec(self):
        """Gets the spec of this V1ThingDNS.  # noqa: E501


        :return: The spec of this V1ThingDNS.  # noqa: E501
        """
'''
FIELDS = '''
class V1ThingDNS(BaseModel):
    """
    Things are
    many.

    Attributes:
      attribute_map (dict): The key is attribute name
    """ # noqa: E501
    host_ipc: Optional[StrictBool] = Field(default=None, description="Says \\\\"so\\\\".", alias="hostIPC")
    spec: Optional[V1Spec] = None

    attribute_map: ClassVar[Dict[str, str]] = {
        "host_ipc": "hostIPC",
        "spec": "spec",
    }
'''


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


def forget() -> None:
    for each in (description_of, descriptions._model_files, descriptions.source, _schema):
        each.cache_clear()


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content.replace('\\\\"', '\\"'))
    found = {file.stem.replace("_", ""): file for file in folder.glob("*.py")}
    monkeypatch.setattr(descriptions, "_model_files", lambda: found)
    monkeypatch.setattr(descriptions._model_files, "cache_clear", lambda: None, raising=False)


@pytest.mark.parametrize(("content", "text"), [(PROPERTIES, ""), (FIELDS, "Things are many.")])
def test_a_model_of_either_form_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, text: str
) -> None:
    installed(monkeypatch, tmp_path, v1_thing_dns=content)
    assert description_of(THING) == descriptions.Description(text, {"hostIPC": 'Says "so".'})


def test_a_name_that_two_groups_have_is_found_by_its_group(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, tmp_path, events_v1_event=FIELDS, v1_event=FIELDS.replace("many", "few"))
    assert description_of("io.k8s.api.events.v1.Event").text == "Things are many."
    assert description_of("io.k8s.api.core.v1.Event").text == "Things are few."


def test_without_the_package_nothing_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "PACKAGE", "no_such_package")
    assert descriptions.source() == ""
    schema = schemas_of(["io.k8s.api.core.v1.Pod"], CORE)["io.k8s.api.core.v1.Pod"]
    assert "description" not in schema


def test_other_texts_give_documents_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = builtin_registry()
    before = Documents(registry).hash_of("api/v1")
    monkeypatch.setattr(descriptions, "source", lambda: "kubernetes 1.2.3")
    monkeypatch.setattr(descriptions.source, "cache_clear", lambda: None, raising=False)
    assert Documents(registry).hash_of("api/v1") != before


def test_the_installed_client_describes_most_fields() -> None:
    schemas = schemas_of(["io.k8s.api.core.v1.Pod"], CORE)
    fields = [each for schema in schemas.values() for each in schema.get("properties", {}).values()]
    described = [each for each in fields if each.get("description")]
    assert len(described) > 0.6 * len(fields)
    assert schemas["io.k8s.api.core.v1.Pod"]["properties"]["apiVersion"]["description"]


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("In UTC.  Set by the system. Read-only.", "In UTC.\n\nSet by the system. Read-only."),
        ("One.  Two.  Three.", "One.  Two.  Three."),  # whose writer puts two spaces everywhere
        ("One.  and two. Three.", "One.  and two. Three."),
    ],
)
def test_two_spaces_between_sentences_are_a_blank_line(text: str, paragraphs: str) -> None:
    content = FIELDS.replace('description="', f'description="{text}', 1)
    assert paragraphs in "".join(descriptions._read(content).fields.values())
