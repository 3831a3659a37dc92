"""Values that `impact` tries instead of a recorded time or choice, for any recorded time or choice."""

import calendar
import datetime as dt

import pytest

from autochron.detect.catalogue import BY_NAME
from autochron.impact.alternative_values import vary
from autochron.impact.varied_call import LEAST, VariedCall

WEEK = [dt.datetime(2026, 11, 16 + day, 10, 30) for day in range(7)]


def moments(call, moment):
    """Yield the time that a program would see in each of the variants that are always tried."""
    source = BY_NAME[call]
    call_to_vary = VariedCall(source, call.rpartition(".")[2], (), 0, "agent.py:3")
    for variant in range(LEAST):
        if call == "datetime.date.today":
            date = dt.date(*vary(call_to_vary, [moment.year, moment.month, moment.day], variant))
            yield dt.datetime(date.year, date.month, date.day)
        elif call == "datetime.datetime.now":
            yield dt.datetime(*vary(call_to_vary, [*moment.timetuple()[:6], 0, 0], variant)[:6])
        else:
            recorded = moment.replace(tzinfo=dt.UTC).timestamp()
            yield dt.datetime.fromtimestamp(vary(call_to_vary, recorded, variant), dt.UTC)


@pytest.mark.parametrize("call", ["datetime.date.today", "datetime.datetime.now", "time.time"])
@pytest.mark.parametrize("moment", WEEK, ids=lambda moment: f"{moment:%a}")
def test_the_variants_of_a_time_include_days_of_each_kind(call, moment):
    seen = list(moments(call, moment))
    assert {variant.weekday() >= 5 for variant in [moment, *seen]} == {True, False}
    assert any((variant.month, variant.day) == (2, 29) for variant in seen)
    assert any(
        variant.day == 31 and calendar.monthrange(variant.year, variant.month % 12 + 1)[1] < 31
        for variant in seen
    )
    assert min(seen) < moment.replace(tzinfo=min(seen).tzinfo) < max(seen)


@pytest.mark.parametrize("hour", range(24))
def test_the_variants_of_a_time_include_every_quarter_of_the_day(hour):
    seen = sorted(
        {hour, *(variant.hour for variant in moments("datetime.datetime.now", WEEK[0].replace(hour=hour)))}
    )
    gaps = [later - sooner for sooner, later in zip(seen, [*seen[1:], seen[0] + 24], strict=True)]
    assert max(gaps) <= 7


TEXTS = {
    "time.strftime": (("%Y-%m-%d %H:%M:%S",),),
    "time.ctime": ((),),
    "time.asctime": ((),),
    "email.utils.formatdate": ((),),
}


@pytest.mark.parametrize("call", TEXTS)
def test_a_time_as_text_is_varied_from_the_time_of_the_trace_and_not_from_todays(call, monkeypatch):
    began = dt.datetime(2026, 11, 16, 10, 30, tzinfo=dt.UTC).timestamp()
    asked = VariedCall(BY_NAME[call], call.rpartition(".")[2], TEXTS[call], 0, "agent.py:3", began)
    texts = []
    for now in (1_800_000_000, 1_800_000_000 + 86_400):
        monkeypatch.setattr("time.time", lambda now=now: now)
        texts.append([vary(asked, "a time", variant) for variant in range(LEAST)])
    assert texts[0] == texts[1]
    assert "2028" in texts[0][0]  # two years after the trace, and a leap year


def variants(call, arguments, recorded):
    call_to_vary = VariedCall(BY_NAME[call], call.rpartition(".")[2], arguments, 0, "agent.py:3")
    return {vary(call_to_vary, recorded, variant) for variant in range(LEAST)}


@pytest.mark.parametrize("recorded", range(5))
def test_all_other_choices_of_five_are_tried(recorded):
    rest = set(range(5)) - {recorded}
    assert variants("random.choice", (5,), recorded) == rest
    assert variants("secrets.randbelow", ((5,),), recorded) == rest
    assert variants("random.randint", ((1, 5),), recorded + 1) == {choice + 1 for choice in rest}
    assert variants("random.randrange", ((0, 50, 10),), recorded * 10) == {choice * 10 for choice in rest}


def test_the_first_and_last_of_many_choices_are_tried():
    assert {0, 999} < variants("random.choice", (1000,), 5)
    assert {1, 10**9} < variants("random.randint", ((1, 10**9),), 5)
