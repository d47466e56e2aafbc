"""Label selectors: what they select, and kube-apiserver's messages for invalid ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.selectors.labels import MOST_PARTS, MOST_REQUIREMENTS, MOST_TOLD, Matcher, SelectorError, parse

POD = {"app": "web", "tier": "front", "n": "7", "empty": "", "example.com/part": "a.b"}


def selects(selector: str, labels: dict[str, str]) -> bool:
    matcher: Matcher | None = parse(selector)
    return matcher is None or matcher(labels)


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web ", True),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app!=web", False),
        ("nosuch!=web", True),
        ("app", True),
        ("nosuch", False),
        ("!nosuch", True),
        ("!app", False),
        ("! app", False),
        ("app in (web, api)", True),
        ("app in (api)", False),
        ("app notin (api,db)", True),
        ("app notin (web)", False),
        ("nosuch notin (web)", True),
        ("nosuch in (web)", False),
        ("app in (web),tier notin (back),!nosuch,n>6", True),
        ("empty=", True),
        ("empty", True),
        ("nosuch=", False),
        ("empty in ()", True),
        ("empty in (,web)", True),
        ("app in (web,)", True),
        ("n>6", True),
        ("n>7", False),
        ("n<8", True),
        ("n<+7", None),
        ("app>1", False),
        ("nosuch<1", False),
        ("example.com/part=a.b", True),
        ("in in (in)", False),
        ("notin", False),
    ],
)
def test_the_grammar(selector: str, selected: bool | None) -> None:
    if selected is None:
        with pytest.raises(SelectorError):
            parse(selector)
    else:
        assert selects(selector, POD) is selected


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("app=web,", "found '', expected: identifier after ','"),
        (",app=web", "found ',', expected: !, identifier, or 'end of string'"),
        ("app=web tier=front", "found 'tier', expected: ',' or 'end of string'"),
        ("app=!web", "unable to parse requirement: found '!', expected: identifier"),
        ("app web", "unable to parse requirement: found 'web', expected: in, notin, =, ==, !=, gt, lt"),
        ("app in web", "unable to parse requirement: found 'web' expected: '('"),
        ("app in (web", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        (
            "n>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
)
def test_refusals_are_worded_as_kube_apiservers(selector: str, message: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse(selector)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "selector", ["-app=x", "app=-x", "a/b/c=x", "app=" + "x" * 64, "app in (a b)", "a=b=c", "(", "="]
)
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(SelectorError):
        parse(selector)


KEYS = st.sampled_from(["app", "tier", "example.com/part", "in", "n"])
VALUES = st.sampled_from(["web", "api", "1", "2", "notin", ""])
REQUIREMENTS = st.one_of(
    st.tuples(KEYS, st.sampled_from(["=", "==", "!="]), VALUES),
    st.tuples(KEYS, st.sampled_from(["in", "notin"]), st.lists(VALUES, min_size=1, max_size=3)),
    st.tuples(KEYS, st.sampled_from(["exists", "absent"]), st.none()),
    st.tuples(KEYS, st.sampled_from([">", "<"]), st.integers(-3, 3).map(abs)),
)
SPACE = st.sampled_from(["", " ", "\t"])


def printed(requirement: tuple[str, str, object], space: str) -> str:
    key, operator, value = requirement
    match operator:
        case "exists":
            return key
        case "absent":
            return f"!{space}{key}"
        case "in" | "notin":
            assert isinstance(value, list)
            return f"{key} {operator} ({space}{f'{space},{space}'.join(value)}{space})"
    return f"{space}{key}{space}{operator}{space}{value}"


def holds(requirement: tuple[str, str, object], labels: dict[str, str]) -> bool:
    key, operator, value = requirement
    have = labels.get(key)
    match operator:
        case "=" | "==":
            return have == value
        case "!=":
            return have != value
        case "in":
            return have in value  # type: ignore[operator] # a list
        case "notin":
            return have not in value  # type: ignore[operator] # a list
        case "exists":
            return have is not None
        case "absent":
            return have is None
    number = int(have) if have is not None and have.isdigit() else None
    return number is not None and (number > int(str(value)) if operator == ">" else number < int(str(value)))


@given(st.lists(REQUIREMENTS, max_size=4), SPACE, st.dictionaries(KEYS, VALUES))
def test_a_selector_means_all_of_its_requirements(
    requirements: list[tuple[str, str, object]], space: str, labels: dict[str, str]
) -> None:
    text = f"{space},{space}".join(printed(each, space) for each in requirements)
    assert selects(text, labels) is all(holds(each, labels) for each in requirements)


@given(st.text(alphabet="ab=!(),<> \tin\0é", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        matcher = parse(text)
    except SelectorError:
        return
    assert matcher is None or matcher({}) in (True, False)


EXISTENCE, EQUALITY = ["a", "!a", "b", "!b"], ["a=1", "a!=1", "b=1", "c==2"]
SETS = ["a in (1,2)", "a in (2)", "a notin (1,2)", "c notin (3)", "c notin (7)"]
COMPARISONS = ["b>1", "b>2", "b<7"]
REQUIREMENTS = st.sampled_from(EXISTENCE + EQUALITY + SETS + COMPARISONS)
LABELS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["", "1", "2", "3", "7", "x"]))


@given(st.lists(REQUIREMENTS, min_size=1, max_size=12), LABELS)
def test_many_requirements_select_what_each_of_them_does(requirements: list[str], labels: dict[str, str]) -> None:
    together = parse(",".join(requirements))
    assert together is not None
    each = [parse(requirement) for requirement in requirements]
    assert together(labels) == all(matches is not None and matches(labels) for matches in each)


def test_a_selector_has_a_limit() -> None:
    assert parse(",".join(["a"] * MOST_REQUIREMENTS)) is not None
    with pytest.raises(SelectorError, match="more than 2000 requirements"):
        parse(",".join(["a"] * (MOST_REQUIREMENTS + 1)))
    assert parse(f"a in ({','.join(['b'] * MOST_PARTS)})") is not None
    with pytest.raises(SelectorError, match="more than 10000 parts"):
        parse(f"a in ({','.join(['b'] * (MOST_PARTS + 1))})")


def test_numbers_of_any_length_are_refused_or_read() -> None:
    with pytest.raises(SelectorError, match="must be an integer"):
        parse("a>" + "9" * 10_000)
    with pytest.raises(SelectorError, match="must be no more than 63"):
        parse("a>" + "0" * 10_000)


def test_a_refusal_tells_of_a_hundred_values() -> None:
    """Each takes many times as long as the value itself."""
    with pytest.raises(SelectorError) as refused:
        parse(f"a in ({','.join(f'-{i}' for i in range(5000))})")
    assert str(refused.value).count("a valid label must be") == MOST_TOLD == 100
