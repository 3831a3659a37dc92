"""The guarded give_credit alone: no order gets more credit than was paid for it, and only its own customer gets any."""

import asyncio
import copy
import inspect

import guarded
import pytest
import tools

# 7731 was never paid; C-1042 paid 3490 cents for 7744, and C-2210 18900 for 7802.


@pytest.fixture(autouse=True)
def shop():
    """Begin with no credit given, and put back afterwards what the shop knows."""
    orders, given = copy.deepcopy(tools.ORDERS), list(tools.given)
    tools.given.clear()
    yield
    tools.given[:] = given
    tools.ORDERS.clear()
    tools.ORDERS.update(orders)


def give(*claim):
    """Call the guarded tool, be it a function or a coroutine function."""
    result = guarded.give_credit(*claim)
    if not inspect.isawaitable(result):
        return result

    async def wait():
        return await result

    return asyncio.run(wait())


def credit(customer_id, order_id, amount_cents):
    return {"customer_id": customer_id, "order_id": order_id, "amount_cents": amount_cents}


def assert_given(*claim):
    before = list(tools.given)
    result = give(*claim)
    assert tools.given == [*before, credit(*claim)]
    assert result["status"] == "credited"
    assert result["number"] == f"CR-{len(before) + 1:04d}"
    assert result["amount_cents"] == claim[2]


def assert_refused(*claim):
    """Check that nothing is given; the tool may refuse by its answer or by an exception."""
    before = list(tools.given)
    try:
        result = give(*claim)
    except Exception:
        result = None
    assert tools.given == before
    assert not (isinstance(result, dict) and result.get("status") == "credited")


@pytest.mark.parametrize(
    "claim",
    [
        ("C-2210", "7802", 1),
        ("C-2210", "7802", 9450),
        ("C-2210", "7802", 18899),
        ("C-2210", "7802", 18900),
        ("C-1042", "7744", 1),
        ("C-1042", "7744", 3490),
    ],
)
def test_gives_up_to_what_was_paid(claim):
    assert_given(*claim)


@pytest.mark.parametrize(
    "claim",
    [
        ("C-1042", "7731", 48000),
        ("C-1042", "7731", 1),
        ("C-1042", "7744", 3491),
        ("C-1042", "7744", 48000),
        ("C-2210", "7802", 18901),
        ("C-2210", "7802", 1890000),
    ],
)
def test_refuses_more_than_was_paid(claim):
    assert_refused(*claim)


@pytest.mark.parametrize("order_id", ["7731", "7744"])
@pytest.mark.parametrize("amount", [0, -1, -3490])
def test_refuses_an_amount_that_is_no_credit(order_id, amount):
    assert_refused("C-1042", order_id, amount)


@pytest.mark.parametrize("amount", [None, "100", "", 100.5, float("nan"), float("inf"), True, [100]])
def test_refuses_an_amount_that_is_no_number_of_cents(amount):
    assert_refused("C-1042", "7744", amount)


@pytest.mark.parametrize("customer", ["C-2210", "C-9999", "c-1042", "", None])
@pytest.mark.parametrize("amount", [1, 3490])
def test_refuses_somebody_else_than_the_customer_of_the_order(customer, amount):
    assert_refused(customer, "7744", amount)


@pytest.mark.parametrize("order_id", ["9999", "", None, 7744])
def test_refuses_an_order_that_does_not_exist(order_id):
    assert_refused("C-1042", order_id, 100)


def test_credits_of_an_order_add_up():
    assert_given("C-2210", "7802", 10000)
    assert_refused("C-2210", "7802", 8901)
    assert_given("C-2210", "7802", 8900)
    assert_refused("C-2210", "7802", 1)
    assert sum(each["amount_cents"] for each in tools.given) == 18900


def test_the_same_credit_is_not_given_twice_when_it_was_all():
    assert_given("C-1042", "7744", 3490)
    assert_refused("C-1042", "7744", 3490)


def test_many_small_credits_end_where_the_payment_does():
    for _ in range(3):
        assert_given("C-1042", "7744", 1000)
    assert_refused("C-1042", "7744", 1000)
    assert_given("C-1042", "7744", 490)
    assert_refused("C-1042", "7744", 1)


def test_credit_for_one_order_leaves_the_others_alone():
    assert_given("C-2210", "7802", 18900)
    assert_given("C-1042", "7744", 3490)
    assert_refused("C-1042", "7731", 1)


def test_credit_that_was_given_before_the_guard_counts():
    tools.give_credit("C-2210", "7802", 18800)
    assert_refused("C-2210", "7802", 101)
    assert_given("C-2210", "7802", 100)


def test_a_refusal_takes_nothing_from_what_is_left():
    assert_refused("C-2210", "7802", 18901)
    assert_refused("C-1042", "7802", 18900)
    assert_refused("C-2210", "7802", -1)
    assert_given("C-2210", "7802", 18900)
