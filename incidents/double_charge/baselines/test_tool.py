"""The guarded charge by itself: no order is charged more than its total, however often it is tried."""

import asyncio
import inspect

import guarded
import pytest
import tools

TOTAL = 64900


@pytest.fixture(autouse=True)
def booked():
    """Start with a gateway that has booked nothing, and leave it as it was."""
    before = list(tools.gateway.booked)
    tools.gateway.booked.clear()
    yield tools.gateway.booked
    tools.gateway.booked[:] = before


@pytest.fixture
def known(booked):
    """Let the gateway know both cards from earlier orders, so that it answers in time."""
    booked += [
        {"id": "ch_0001", "order_id": "7001", "amount_cents": TOTAL, "card": "visa-4417"},
        {"id": "ch_0002", "order_id": "7002", "amount_cents": 2900, "card": "amex-0031"},
    ]
    return list(booked)


def charge(order_id, amount_cents):
    result = guarded.charge(order_id=order_id, amount_cents=amount_cents)
    return asyncio.run(result) if inspect.isawaitable(result) else result


def attempt(order_id, amount_cents):
    """Try a charge, and return whether it is said to be made; whatever is raised is a refusal."""
    try:
        result = charge(order_id, amount_cents)
    except Exception:
        return False
    return isinstance(result, dict) and result.get("status") == "charged"


def amounts(order_id):
    return [each["amount_cents"] for each in tools.gateway.booked if each["order_id"] == order_id]


@pytest.mark.parametrize(
    ("order_id", "amount_cents"),
    [("7731", TOTAL), ("7731", TOTAL - 1), ("7731", 1), ("7732", 2900), ("7732", 2899), ("7732", 1)],
)
def test_up_to_the_total_is_charged(known, booked, order_id, amount_cents):
    result = charge(order_id, amount_cents)
    expected = {"id": "ch_0003", "order_id": order_id, "amount_cents": amount_cents}
    assert result == {"status": "charged", **expected}
    assert booked == [*known, {**expected, "card": tools.ORDERS[order_id]["card"]}]


@pytest.mark.parametrize(
    ("order_id", "amount_cents"),
    [("7731", TOTAL + 1), ("7731", 2 * TOTAL), ("7732", 2901), ("7732", TOTAL)],
)
def test_more_than_the_total_is_refused(known, booked, order_id, amount_cents):
    assert not attempt(order_id, amount_cents)
    assert booked == known


@pytest.mark.parametrize(
    "amount_cents", [0, -1, -TOTAL, True, False, 649.0, float(TOTAL), float("nan"), str(TOTAL), None, [TOTAL]]
)
def test_what_is_no_amount_is_refused(known, booked, amount_cents):
    assert not attempt("7731", amount_cents)
    assert booked == known


@pytest.mark.parametrize("order_id", ["7733", "", " 7731", 7731, None])
def test_an_unknown_order_is_refused(known, booked, order_id):
    assert not attempt(order_id, 1)
    assert booked == known


def test_the_first_charge_of_a_new_card_is_booked_and_times_out():
    attempt("7731", TOTAL)
    assert amounts("7731") == [TOTAL]


def test_a_charge_that_timed_out_is_not_booked_again():
    for _ in range(4):
        attempt("7731", TOTAL)
    assert amounts("7731") == [TOTAL]


def test_a_charge_that_was_answered_is_not_booked_again(known):
    assert charge("7731", TOTAL)["status"] == "charged"
    attempt("7731", TOTAL)
    assert amounts("7731") == [TOTAL]


def test_nothing_is_added_to_an_order_that_is_paid(known):
    charge("7731", TOTAL)
    assert not attempt("7731", 1)
    assert amounts("7731") == [TOTAL]


def test_a_part_that_timed_out_counts():
    attempt("7731", 40000)
    assert not attempt("7731", TOTAL)
    assert not attempt("7731", 24901)
    assert amounts("7731") == [40000]
    assert charge("7731", 24900)["status"] == "charged"
    assert amounts("7731") == [40000, 24900]
    assert not attempt("7731", 1)
    assert amounts("7731") == [40000, 24900]


def test_all_parts_are_summed_up(known):
    for amount in (20000, 20000, 20000):
        assert charge("7731", amount)["status"] == "charged"
    assert not attempt("7731", 4901)
    assert charge("7731", 4900)["status"] == "charged"
    assert sum(amounts("7731")) == TOTAL


def test_an_order_that_is_paid_leaves_the_others_alone(known):
    charge("7731", TOTAL)
    assert charge("7732", 2900)["status"] == "charged"
    assert amounts("7731") == [TOTAL]
    assert amounts("7732") == [2900]


def test_a_refusal_is_no_charge(known):
    attempt("7731", TOTAL + 1)
    attempt("7731", 0)
    assert charge("7731", TOTAL)["status"] == "charged"
    assert amounts("7731") == [TOTAL]
