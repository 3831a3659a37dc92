"""Unit tests of the guarded refund: no more is paid back than is left of what was paid."""

import asyncio
import inspect

import guarded
import pytest
import tools


@pytest.fixture(autouse=True)
def clean_state():
    """Start without refunds, and leave things as they were."""
    before = list(tools.refunds)
    tools.refunds.clear()
    yield
    tools.refunds[:] = before


def issue_refund(order_id, amount_cents):
    result = guarded.issue_refund(order_id=order_id, amount_cents=amount_cents)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def assert_refused(order_id, amount_cents):
    """Assert that nothing is paid back, and that the tool says so: by what it returns or by an exception."""
    before = list(tools.refunds)
    try:
        result = issue_refund(order_id, amount_cents)
    except Exception as error:
        result = error
    assert tools.refunds == before
    assert result is not None
    assert not isinstance(result, tools.Refund)


@pytest.mark.parametrize(
    ("order_id", "amount_cents", "paid_cents"),
    [
        ("48213", 1, 3990),
        ("48213", 1995, 3990),
        ("48213", 3989, 3990),
        ("48213", 3990, 3990),
        ("50117", 2449, 2450),
        ("50117", 2450, 2450),
    ],
)
def test_up_to_what_was_paid_is_paid_back(order_id, amount_cents, paid_cents):
    refund = tools.Refund(order_id, amount_cents, paid_cents, number=1)
    assert issue_refund(order_id, amount_cents) == refund
    assert tools.refunds == [refund]


@pytest.mark.parametrize(
    ("order_id", "amount_cents"),
    [
        ("48213", 4821300),
        ("48213", 48213),
        ("48213", 399000),
        ("48213", 3991),
        ("50117", 2451),
        ("50117", 3990),
        ("50117", 5011700),
    ],
)
def test_more_than_was_paid_is_refused(order_id, amount_cents):
    assert_refused(order_id, amount_cents)


@pytest.mark.parametrize("amount_cents", [0, -1, -3990, 39.9, 0.5, "3990", "", None])
def test_what_is_no_amount_is_refused(amount_cents):
    assert_refused("48213", amount_cents)


@pytest.mark.parametrize("order_id", ["00000", "", None])
def test_an_unknown_order_is_refused(order_id):
    assert_refused(order_id, 100)


def test_a_full_refund_is_made_once():
    issue_refund("48213", 3990)
    assert_refused("48213", 3990)
    assert_refused("48213", 1)


def test_parts_are_paid_back_up_to_what_was_paid():
    issue_refund("48213", 2000)
    assert_refused("48213", 1991)
    issue_refund("48213", 1000)
    assert_refused("48213", 991)
    assert issue_refund("48213", 990) == tools.Refund("48213", 990, 3990, number=3)
    assert_refused("48213", 1)
    assert [refund.amount_cents for refund in tools.refunds] == [2000, 1000, 990]


def test_a_refused_refund_uses_nothing_up():
    assert_refused("48213", 4821300)
    assert issue_refund("48213", 3990) == tools.Refund("48213", 3990, 3990, number=1)


def test_a_refund_uses_nothing_up_of_another_order():
    issue_refund("48213", 3990)
    assert_refused("50117", 2451)
    assert issue_refund("50117", 2450) == tools.Refund("50117", 2450, 2450, number=2)
    assert [refund.order_id for refund in tools.refunds] == ["48213", "50117"]
