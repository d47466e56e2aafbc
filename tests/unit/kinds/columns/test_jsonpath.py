"""JSONPath of printer columns: Kubernetes' dialect, and the cost of hostile paths and objects."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.columns.custom import MAX_COLUMNS, STEPS, custom_columns
from gateway.kinds.columns.jsonpath import MISSING, Budget, JsonPath, PathError
from gateway.kinds.columns.jsonpath_parser import MAX_LENGTH
from tests.limits import at_most_cpu

OBJECT: dict[str, Any] = {
    "a": {"b": [1, 2, 3], "a.b": "dotted", "name": "héllo"},
    "list": [{"name": "x", "n": 1}, {"name": "y", "n": 2, "on": True}, {"name": "z", "n": 3}],
    "null": None,
    "flag": True,
}


def _first(path: str, value: Any = OBJECT) -> Any:
    return JsonPath.of(path).first(value, Budget(STEPS))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (".a.b[1]", 2),
        (".a.b[-1]", 3),
        (".a.b[5:]", PathError),
        (".a.b[3]", PathError),
        (".a.b[0:0]", MISSING),
        (".a.b[::0]", PathError),
        (".a.a\\.b", "dotted"),
        (".a['a\\.b']", "dotted"),
        (".a['b','name']", [1, 2, 3]),
        (".list[*].name", "x"),
        (".list[?(@.n>1)].name", "y"),
        (".list[?(@.n>=3)].name", "z"),
        (".list[?(@.name!='x')].n", 2),
        (".list[?(@.on)].name", "y"),
        (".list[?(@.on==true)].name", "y"),
        (".list[?(@.n==1.0)].name", PathError),  # an integer is not a float
        (".list[?(@.n=='1')].name", PathError),
        (".list[?(@.none==1)].name", MISSING),
        ("..n", 1),
        (".a..name", "héllo"),
        (".flag.x", MISSING),
        (".null", None),
        (".null.x", MISSING),
        (".flag[0]", PathError),
        (".a.name 'text'", "text"),
        (".flag}, {.a.name", True),
        (".flag}, {.flag[0]", PathError),
        (".flag other", PathError),
        ("", OBJECT),
    ],
)
def test_paths_lead_where_kubernetes_follows_them(path: str, value: Any) -> None:
    if value is PathError:
        with pytest.raises(PathError):
            _first(path)
    else:
        assert _first(path) == value


@pytest.mark.parametrize(
    "path", [".a[", ".a[x]", ".a['b", ".a[?(@.b]", ".a[?(@.b)", ".a....b", ".a !", ".a\n", ".a[1.5]", ".a 1.2.3", "{"]
)
def test_what_is_no_path_is_told(path: str) -> None:
    with pytest.raises(PathError):
        JsonPath.of(path)


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "name"]), inner, max_size=3),
    max_leaves=20,
)
_parts = st.sampled_from(
    [".a", ".b", "..", ".*", "[*]", "[0]", "[-1:]", "[0,1]", "['a']", "[?(@.a)]", "[?(@.a==1)]", "[?(@<2)]", "'t'"]
)


@given(st.lists(_parts | st.text(alphabet=".[]{}@$*?()'\"\\ab1:,=<>! ", max_size=3), max_size=8), _values)
def test_any_text_is_a_path_or_refused_and_any_path_ends(parts: list[str], value: Any) -> None:
    budget = Budget(500)
    with contextlib.suppress(PathError):
        JsonPath.of("." + "".join(parts)).first(value, budget)


@pytest.mark.parametrize(
    "path",
    [
        "." * MAX_LENGTH,
        ".a" * (MAX_LENGTH // 2),
        "." + "[?(" * 1000,
        ".a" + "[0,0]" * 800,
        "." + "'\\'" * 1000,
        ".a[?(@.x" + "=" * 4000 + ")]",
        "." + "..*" * 1300,
        ".a}{" * 1000,
        ".a[" + "'x'," * 1000 + "'x']",
        "x" * (1 << 20),
    ],
)
def test_hostile_paths_cost_little(path: str) -> None:
    wide = {"a": [{"a": [{"a": [0] * 30}] * 30}] * 30}
    start = time.thread_time()
    columns = custom_columns([{"name": "a", "type": "string", "jsonPath": path}] * 20)
    columns.cells({"metadata": {"name": "x"}, **wide})
    at_most_cpu(time.thread_time() - start, 1.0)


def test_all_columns_share_what_an_object_may_cost() -> None:
    wide = {"a": {str(i): list(range(40)) for i in range(200)}}
    columns = custom_columns([{"name": "n", "type": "integer", "jsonPath": ".a.*[*]"}] * 3)
    assert columns.cells({"metadata": {"name": "x"}, **wide})[1:] == [0, 0, None]


def test_whole_objects_are_not_shown_over_and_over() -> None:
    columns = custom_columns([{"name": "a", "type": "string", "jsonPath": ".a"}] * MAX_COLUMNS)
    cells = columns.cells({"metadata": {"name": "x"}, "a": ["x" * 1000] * 1000})
    assert sum(len(cell) for cell in cells if isinstance(cell, str)) < 3_000_000


def test_what_is_nested_too_deeply_is_not_shown() -> None:
    nested: list[Any] = []
    for _ in range(900):
        nested = [nested]
    columns = custom_columns([{"name": "a", "type": "string", "jsonPath": ".a"}])
    assert columns.cells({"metadata": {"name": "x"}, "a": nested}) == ["x", None]


def test_a_definition_has_so_many_columns_and_no_more() -> None:
    assert (
        len(custom_columns([{"name": "a", "type": "string", "jsonPath": ".a"}] * 1000).definitions) == 1 + MAX_COLUMNS
    )


def test_a_column_that_cannot_be_read_ends_the_columns() -> None:
    good, bad = {"name": "g", "type": "string", "jsonPath": ".a"}, {"name": "b", "type": "string", "jsonPath": ".a["}
    assert [column.name for column in custom_columns([good, bad, good]).definitions] == ["Name", "g"]


def test_without_columns_there_is_the_age() -> None:
    columns = custom_columns(None)
    assert [(column.name, column.type, column.field[-17:]) for column in columns.definitions][1:] == [
        ("Age", "date", "creationTimestamp")
    ]
