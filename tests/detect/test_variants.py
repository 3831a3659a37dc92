"""What `impact` puts in the place of a time, on whatever day it was recorded, and of a choice, whatever was chosen."""

import calendar
import datetime as dt

import pytest

from autochron.detect.catalogue import BY_NAME
from autochron.impact.alternative_values import LEAST, VariedCall, vary

WEEK = [dt.datetime(2026, 11, 16 + day, 10, 30) for day in range(7)]


def moments(call, moment):
    """Yield what a program would see of a moment in each of the variants that are always tried."""
    source = BY_NAME[call]
    asked = VariedCall(source, call.rpartition(".")[2], (), 0, "agent.py:3")
    for variant in range(LEAST):
        if call == "datetime.date.today":
            date = dt.date(*vary(asked, [moment.year, moment.month, moment.day], variant))
            yield dt.datetime(date.year, date.month, date.day)
        elif call == "datetime.datetime.now":
            yield dt.datetime(*vary(asked, [*moment.timetuple()[:6], 0, 0], variant)[:6])
        else:
            kept = moment.replace(tzinfo=dt.UTC).timestamp()
            yield dt.datetime.fromtimestamp(vary(asked, kept, variant), dt.UTC)


@pytest.mark.parametrize("call", ["datetime.date.today", "datetime.datetime.now", "time.time"])
@pytest.mark.parametrize("moment", WEEK, ids=lambda moment: f"{moment:%a}")
def test_days_of_each_kind_are_met(call, moment):
    seen = list(moments(call, moment))
    assert {each.weekday() >= 5 for each in [moment, *seen]} == {True, False}
    assert any((each.month, each.day) == (2, 29) for each in seen)
    assert any(
        each.day == 31 and calendar.monthrange(each.year, each.month % 12 + 1)[1] < 31 for each in seen
    )
    assert min(seen) < moment.replace(tzinfo=min(seen).tzinfo) < max(seen)


@pytest.mark.parametrize("hour", range(24))
def test_every_quarter_of_the_day_is_met(hour):
    seen = sorted(
        {hour, *(each.hour for each in moments("datetime.datetime.now", WEEK[0].replace(hour=hour)))}
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


def others(call, given, kept):
    asked = VariedCall(BY_NAME[call], call.rpartition(".")[2], given, 0, "agent.py:3")
    return {vary(asked, kept, variant) for variant in range(LEAST)}


@pytest.mark.parametrize("kept", range(5))
def test_of_five_each_other_one_is_tried(kept):
    rest = set(range(5)) - {kept}
    assert others("random.choice", (5,), kept) == rest
    assert others("secrets.randbelow", ((5,),), kept) == rest
    assert others("random.randint", ((1, 5),), kept + 1) == {each + 1 for each in rest}
    assert others("random.randrange", ((0, 50, 10),), kept * 10) == {each * 10 for each in rest}


def test_of_many_the_ends_come_first():
    assert {0, 999} < others("random.choice", (1000,), 5)
    assert {1, 10**9} < others("random.randint", ((1, 10**9),), 5)
