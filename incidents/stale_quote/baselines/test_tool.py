"""The guarded accept_quote alone: it deals at a quote up to the instant until which that is valid, and not after."""

import asyncio
import inspect
from datetime import UTC, datetime, timedelta, timezone

import guarded
import pytest
import tools


@pytest.fixture(autouse=True)
def desk():
    """Begin with no quote and no deal, and put back afterwards what there was."""
    quotes, deals = dict(tools.quotes), list(tools.deals)
    tools.quotes.clear()
    tools.deals.clear()
    yield
    tools.deals[:] = deals
    tools.quotes.clear()
    tools.quotes.update(quotes)


def accept(number):
    """Call the guarded tool, be it a function or a coroutine function."""
    result = guarded.accept_quote(number)
    if not inspect.isawaitable(result):
        return result

    async def wait():
        return await result

    return asyncio.run(wait())


def quote_until(valid_until, currency="GBP", amount=100_000):
    """Return a new quote of the desk, with another end."""
    quote = tools.request_quote(currency, amount)
    quote.valid_until = valid_until
    return quote


def now():
    return datetime.now(UTC)


def assert_dealt(quote):
    before = list(tools.deals)
    result = accept(quote.number)
    assert len(tools.deals) == len(before) + 1
    assert result["status"] == "dealt"
    for deal in (result, tools.deals[-1]):
        assert deal["number"] == quote.number
        assert deal["currency"] == quote.currency
        assert deal["amount"] == quote.amount
        assert deal["rate"] == quote.rate


def assert_refused(number):
    """Check that no deal is made; the tool may refuse by its answer or by an exception."""
    before = list(tools.deals)
    try:
        result = accept(number)
    except Exception:
        result = None
    assert tools.deals == before
    assert not (isinstance(result, dict) and result.get("status") == "dealt")


@pytest.mark.parametrize(("currency", "amount"), [("USD", 250_000), ("GBP", 100_000), ("CHF", 1)])
def test_deals_at_a_new_quote(currency, amount):
    quote = tools.request_quote(currency, amount)
    assert_dealt(quote)
    assert tools.deals[0]["dealt_at"] <= quote.valid_until


@pytest.mark.parametrize("left", [1, 60, 86_400])
def test_deals_at_a_quote_that_is_still_valid(left):
    assert_dealt(quote_until(now() + timedelta(seconds=left)))


def test_deals_in_the_last_instant_of_a_quote(monkeypatch):
    quote = tools.request_quote("GBP", 100_000)

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return quote.valid_until.astimezone(tz)

    monkeypatch.setattr(guarded, "datetime", Clock, raising=False)
    assert_dealt(quote)


@pytest.mark.parametrize(
    "late",
    [
        timedelta(microseconds=1),
        timedelta(milliseconds=1),
        timedelta(seconds=1),
        timedelta(minutes=1),
        timedelta(hours=1),
        timedelta(days=1),
        timedelta(days=365),
    ],
)
def test_refuses_a_quote_that_has_run_out(late):
    quote = quote_until(now() - late)
    assert_refused(quote.number)


@pytest.mark.parametrize("offset", [-11, -5, 0, 5.5, 14])
def test_the_zone_of_the_time_makes_no_difference(offset):
    zone = timezone(timedelta(hours=offset))
    assert_dealt(quote_until((now() + timedelta(seconds=2)).astimezone(zone)))
    assert_refused(quote_until((now() - timedelta(seconds=2)).astimezone(zone)).number)


@pytest.mark.parametrize("number", ["Q-999", "", "q-001", None, 1])
def test_refuses_a_quote_that_was_never_given(number):
    tools.request_quote("USD", 250_000)
    assert_refused(number)


def test_looks_at_the_quote_that_is_accepted_and_at_no_other():
    stale = quote_until(now() - timedelta(seconds=1), "USD", 250_000)
    fresh = quote_until(now() + timedelta(seconds=60))
    assert_refused(stale.number)
    assert_dealt(fresh)
    assert_refused(stale.number)
    assert [deal["number"] for deal in tools.deals] == [fresh.number]


def test_an_old_quote_beside_a_new_one_the_other_way_round():
    fresh = quote_until(now() + timedelta(seconds=60), "USD", 250_000)
    stale = quote_until(now() - timedelta(seconds=1))
    assert_dealt(fresh)
    assert_refused(stale.number)


def test_a_quote_runs_out_between_two_calls():
    quote = tools.request_quote("GBP", 100_000)
    assert_dealt(quote)
    quote.valid_until = now() - timedelta(microseconds=1)
    assert_refused(quote.number)
    assert len(tools.deals) == 1


def test_asking_again_after_a_refusal_gives_a_quote_to_deal_at():
    stale = quote_until(now() - timedelta(seconds=1))
    assert_refused(stale.number)
    again = tools.request_quote("GBP", 100_000)
    assert_dealt(again)
    assert_refused(stale.number)


def test_a_refusal_leaves_the_other_quotes_alone():
    stale = quote_until(now() - timedelta(seconds=1))
    fresh = quote_until(now() + timedelta(seconds=60))
    assert_refused(stale.number)
    assert tools.quotes[fresh.number] is fresh
    assert_dealt(fresh)
