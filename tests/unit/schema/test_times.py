"""Times: metav1.Time and MicroTime, as Go's time.Parse reads them."""

import pytest

from gateway.schema.times import TimeError, canonical_microtime, canonical_time


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2020-02-03T04:05:06Z", "2020-02-03T04:05:06Z"),
        ("2020-02-03T04:05:06.789+02:00", "2020-02-03T02:05:06Z"),
        ("2020-01-01T00:00:00+24:00", "2019-12-31T00:00:00Z"),
        ("2020-01-01T1:02:03Z", "2020-01-01T01:02:03Z"),
        ("0000-03-01T00:00:00Z", "0000-03-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_become_utc_seconds(text: str, written: str | None) -> None:
    assert canonical_time(text) == written


def test_microtimes_keep_six_digits() -> None:
    assert canonical_microtime("2020-01-01T00:00:00.123456+01:00") == "2019-12-31T23:00:00.123456Z"
    with pytest.raises(TimeError, match=r'cannot parse "Z" as "\.000000"'):
        canonical_microtime("2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2020-02-03", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"'),
        ("2020-02-30T00:00:00Z", ": day out of range"),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2020-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2020-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
    ],
)
def test_refusals_are_worded_as_go_words_them(text: str, problem: str) -> None:
    with pytest.raises(TimeError) as caught:
        canonical_time(text)
    assert str(caught.value) == f'parsing time "{text}"{problem}'
