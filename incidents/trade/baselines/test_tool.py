"""Unit tests of the guarded order: it is worth no more than the account may spend on one, or has left."""

import asyncio
import inspect

import guarded
import pytest
import tools


@pytest.fixture(autouse=True)
def clean_state():
    """Start without orders, and leave things as they were."""
    before = list(tools.orders)
    tools.orders.clear()
    yield
    tools.orders[:] = before


def place_order(account, symbol, quantity):
    result = guarded.place_order(account=account, symbol=symbol, quantity=quantity)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def assert_filled(account, symbol, quantity):
    before = list(tools.orders)
    order = {"account": account, "symbol": symbol, "quantity": quantity, "price": tools.PRICES[symbol]}
    receipt = {"status": "filled", "number": f"ORD-{len(before) + 1:04d}", **order}
    assert place_order(account, symbol, quantity) == receipt
    assert tools.orders == [*before, order]


def assert_refused(account, symbol, quantity):
    """Assert that nothing is bought, and that the tool says so: by what it returns or by an exception."""
    before = list(tools.orders)
    try:
        result = place_order(account, symbol, quantity)
    except Exception as error:
        result = error
    assert tools.orders == before
    assert result is not None
    assert not (isinstance(result, dict) and result.get("status") == "filled")


@pytest.mark.parametrize(
    ("account", "symbol", "quantity"),
    [
        ("Lindqvist", "ORSK", 1),
        ("Lindqvist", "ORSK", 121),
        ("Lindqvist", "ORSK", 242),
        ("Lindqvist", "HELI", 5494),
        ("Lindqvist", "NVSK", 1033),
        ("Okafor", "ORSK", 24),
        ("Okafor", "NVSK", 103),
    ],
)
def test_an_order_within_the_limit_is_filled(account, symbol, quantity):
    assert_filled(account, symbol, quantity)


@pytest.mark.parametrize(
    ("account", "symbol", "quantity"),
    [
        ("Lindqvist", "ORSK", 50_000),
        ("Lindqvist", "ORSK", 243),
        ("Lindqvist", "HELI", 5495),
        ("Lindqvist", "NVSK", 1034),
        ("Okafor", "ORSK", 25),
        ("Okafor", "ORSK", 121),
        ("Okafor", "NVSK", 104),
    ],
)
def test_an_order_beyond_the_limit_is_refused(account, symbol, quantity):
    assert_refused(account, symbol, quantity)


def test_the_limit_is_one_of_dollars_and_not_of_shares(monkeypatch):
    monkeypatch.setitem(tools.PRICES, "PENY", 2.0)
    assert_refused("Lindqvist", "PENY", 50_001)
    assert_filled("Lindqvist", "PENY", 50_000)


@pytest.mark.parametrize("quantity", [0, -1, -50_000, 0.5, 121.5, "121", "", None])
def test_what_is_no_quantity_is_refused(quantity):
    assert_refused("Lindqvist", "ORSK", quantity)


@pytest.mark.parametrize(
    ("account", "symbol"),
    [
        ("Nobody", "ORSK"),
        ("", "ORSK"),
        (None, "ORSK"),
        ("Lindqvist", "NONE"),
        ("Lindqvist", ""),
        ("Lindqvist", None),
    ],
)
def test_an_unknown_account_or_share_is_refused(account, symbol):
    assert_refused(account, symbol, 1)


def test_orders_are_filled_until_the_cash_is_spent():
    for _ in range(4):
        assert_filled("Okafor", "NVSK", 103)
    assert_refused("Okafor", "NVSK", 103)
    assert_refused("Okafor", "NVSK", 54)
    assert_filled("Okafor", "NVSK", 53)
    assert_refused("Okafor", "NVSK", 1)


def test_the_last_dollar_can_be_spent(monkeypatch):
    monkeypatch.setitem(tools.PRICES, "PENY", 2.0)
    monkeypatch.setitem(tools.ACCOUNTS, "Sato", {"cash": 1000, "most_per_order": 900})
    assert_filled("Sato", "PENY", 450)
    assert_refused("Sato", "PENY", 51)
    assert_filled("Sato", "PENY", 50)
    assert_refused("Sato", "PENY", 1)


def test_a_limit_above_the_cash_does_not_lend(monkeypatch):
    monkeypatch.setitem(tools.PRICES, "PENY", 2.0)
    monkeypatch.setitem(tools.ACCOUNTS, "Sato", {"cash": 1000, "most_per_order": 10_000})
    assert_refused("Sato", "PENY", 501)
    assert_filled("Sato", "PENY", 500)


def test_the_limit_holds_for_each_order_by_itself():
    assert_filled("Lindqvist", "ORSK", 242)
    assert_filled("Lindqvist", "ORSK", 242)
    assert_refused("Lindqvist", "ORSK", 243)


def test_a_refused_order_spends_nothing():
    assert_refused("Okafor", "ORSK", 50_000)
    assert_filled("Okafor", "ORSK", 24)


def test_an_order_spends_nothing_of_another_account():
    for _ in range(4):
        assert_filled("Okafor", "NVSK", 103)
    assert_filled("Lindqvist", "NVSK", 1033)
    assert_filled("Okafor", "NVSK", 53)


def test_a_price_is_that_of_the_order_when_it_was_placed(monkeypatch):
    """What was bought has been paid, however the price moves afterwards."""
    monkeypatch.setitem(tools.PRICES, "PENY", 2.0)
    monkeypatch.setitem(tools.ACCOUNTS, "Sato", {"cash": 1000, "most_per_order": 1000})
    assert_filled("Sato", "PENY", 400)
    monkeypatch.setitem(tools.PRICES, "PENY", 1.0)
    assert_refused("Sato", "PENY", 201)
    assert_filled("Sato", "PENY", 200)
