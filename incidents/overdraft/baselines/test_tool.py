"""The guarded transfer alone: an account is never overdrawn, whatever is asked of it at once or one after the other."""

import asyncio
import copy
import inspect

import guarded
import pytest
import tools

HELD = {"operating": 8_400_000, "savings": 120_000_000}
PATIENCE = 5  # seconds; a lock that is never given back would make a test wait for ever


@pytest.fixture(autouse=True)
def bank():
    """Begin with no booking and with the balances of the incident, and put back afterwards what there was."""
    accounts, booked = copy.deepcopy(tools.ACCOUNTS), list(tools.booked)
    for name, cents in HELD.items():
        tools.ACCOUNTS[name]["balance_cents"] = cents
    tools.booked.clear()
    yield
    tools.booked[:] = booked
    for name, account in accounts.items():
        tools.ACCOUNTS[name].update(account)


async def transfer(*order):
    """Call the guarded tool, be it a function or a coroutine function; give its answer or its exception."""
    try:
        result = guarded.transfer(*order)
        return await result if inspect.isawaitable(result) else result
    except Exception as error:
        return error


def one(*order):
    return at_once(order)[0]


def at_once(*orders):
    async def make():
        return await asyncio.gather(*(transfer(*order) for order in orders))

    return asyncio.run(asyncio.wait_for(make(), PATIENCE))


def in_turn(*orders):
    async def make():
        return [await transfer(*order) for order in orders]

    return asyncio.run(asyncio.wait_for(make(), PATIENCE))


def is_booked(result):
    return isinstance(result, dict) and result.get("status") == "booked"


def paid():
    return [(each["source"], each["payee"], each["amount_cents"]) for each in tools.booked]


def left(name="operating"):
    return tools.ACCOUNTS[name]["balance_cents"]


@pytest.mark.parametrize("amount", [1, 3_150_000, 8_399_999, 8_400_000])
@pytest.mark.parametrize("payee", ["Kessler GmbH", "savings"])
def test_moves_up_to_all_that_an_account_holds(payee, amount):
    result = one("operating", payee, amount)
    assert is_booked(result)
    assert result["iban"] == tools.PAYEES[payee]
    assert result["balance_cents"] == 8_400_000 - amount
    assert paid() == [("operating", payee, amount)]
    assert left() == 8_400_000 - amount
    assert left("savings") == 120_000_000


@pytest.mark.parametrize("amount", [8_400_001, 120_000_000])
def test_refuses_more_than_the_account_holds(amount):
    assert not is_booked(one("operating", "Kessler GmbH", amount))
    assert paid() == []
    assert left() == 8_400_000


def test_looks_at_the_balance_of_the_account_that_pays():
    assert is_booked(one("savings", "Kessler GmbH", 120_000_000))
    assert left("savings") == 0
    assert not is_booked(one("savings", "Kessler GmbH", 1))
    assert left("operating") == 8_400_000


@pytest.mark.parametrize(
    "amount", [0, -1, -3_150_000, None, "100", "", 100.5, float("nan"), float("-inf"), True, False, [100]]
)
def test_refuses_an_amount_that_is_no_number_of_cents_above_zero(amount):
    assert not is_booked(one("operating", "Kessler GmbH", amount))
    assert paid() == []
    assert left() == 8_400_000


@pytest.mark.parametrize(
    ("source", "payee"),
    [
        ("payroll", "Kessler GmbH"),
        ("", "Kessler GmbH"),
        (None, "Kessler GmbH"),
        ("operating", "Kesler GmbH"),
        ("operating", ""),
        ("operating", None),
    ],
)
def test_refuses_an_account_or_a_payee_that_is_not_known(source, payee):
    assert not is_booked(one(source, payee, 100))
    assert paid() == []
    assert {name: left(name) for name in HELD} == HELD
    assert set(tools.ACCOUNTS) == set(HELD)


def test_of_two_at_once_that_are_too_much_only_the_first_is_booked():
    sweep, invoice = at_once(
        ("operating", "savings", 8_400_000),
        ("operating", "Kessler GmbH", 3_150_000),
    )
    assert is_booked(sweep)
    assert not is_booked(invoice)
    assert paid() == [("operating", "savings", 8_400_000)]
    assert left() == 0


def test_two_at_once_that_are_one_cent_too_much():
    first, second = at_once(
        ("operating", "Kessler GmbH", 3_150_000),
        ("operating", "savings", 5_250_001),
    )
    assert is_booked(first)
    assert not is_booked(second)
    assert left() == 5_250_000


def test_two_at_once_that_are_all_the_account_holds():
    results = at_once(
        ("operating", "Kessler GmbH", 3_150_000),
        ("operating", "savings", 5_250_000),
    )
    assert [is_booked(each) for each in results] == [True, True]
    assert paid() == [("operating", "Kessler GmbH", 3_150_000), ("operating", "savings", 5_250_000)]
    assert left() == 0


def test_many_at_once_are_booked_as_long_as_there_is_money():
    results = at_once(*[("operating", "Kessler GmbH", 1_000_000)] * 10)
    assert [is_booked(each) for each in results] == [True] * 8 + [False] * 2
    assert paid() == [("operating", "Kessler GmbH", 1_000_000)] * 8
    assert left() == 400_000


def test_what_is_refused_leaves_the_money_to_the_next():
    results = in_turn(
        ("operating", "savings", 8_400_001),
        ("operating", "nobody", 8_400_000),
        ("operating", "Kessler GmbH", 0),
        ("operating", "Kessler GmbH", 8_400_000),
    )
    assert [is_booked(each) for each in results] == [False, False, False, True]
    assert paid() == [("operating", "Kessler GmbH", 8_400_000)]
    assert left() == 0


def test_accounts_at_once_do_not_touch_each_other():
    results = at_once(
        ("operating", "Kessler GmbH", 8_400_000),
        ("savings", "Kessler GmbH", 120_000_000),
        ("operating", "Kessler GmbH", 1),
        ("savings", "Kessler GmbH", 1),
    )
    assert [is_booked(each) for each in results] == [True, True, False, False]
    assert left("operating") == 0
    assert left("savings") == 0


def test_one_after_the_other_each_in_a_loop_of_its_own():
    assert is_booked(one("operating", "Kessler GmbH", 8_000_000))
    assert not is_booked(one("operating", "Kessler GmbH", 400_001))
    assert is_booked(one("operating", "Kessler GmbH", 400_000))
    assert not is_booked(one("operating", "Kessler GmbH", 1))
    assert left() == 0


def test_twice_at_once_in_two_loops():
    for balance in (5_400_000, 2_400_000):
        tools.ACCOUNTS["operating"]["balance_cents"] = balance
        results = at_once(*[("operating", "Kessler GmbH", 2_000_000)] * 3)
        assert [is_booked(each) for each in results].count(True) == balance // 2_000_000
        assert left() == balance % 2_000_000


def test_a_transfer_that_is_cancelled_leaves_the_money_to_the_next_unless_it_is_booked():
    async def run():
        first = asyncio.create_task(transfer("operating", "savings", 8_400_000))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.wait_for(transfer("operating", "Kessler GmbH", 8_400_000), PATIENCE)

    asyncio.run(run())
    assert len(tools.booked) == 1
    assert left() == 0
