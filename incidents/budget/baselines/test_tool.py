"""The guarded search by itself: it searches as long as the budget pays for it, and charges nothing after that."""

import asyncio
import inspect

import guarded
import pytest
import tools

SPAIN = {"Celda Norte (Spain)": tools.PAGES["Celda Norte (Spain)"]}


@pytest.fixture(autouse=True)
def charged():
    """Start with a budget that is whole, and leave it as it was."""
    before = list(tools.charged)
    tools.charged.clear()
    yield tools.charged
    tools.charged[:] = before


def search(query):
    result = guarded.search(query=query)
    return asyncio.run(result) if inspect.isawaitable(result) else result


def attempt(query):
    """Try a search, and return whether it is said to be made; whatever is raised is a refusal."""
    try:
        result = search(query)
    except Exception:
        return False
    return isinstance(result, dict) and (
        result.get("status") in ("found", "nothing") or bool(result.get("hits"))
    )


@pytest.mark.parametrize("spent", [[], [40], [40, 40, 40], [1], [159], [160], [40, 40, 40, 40], [100, 60]])
def test_what_the_budget_pays_for_is_searched_and_charged(charged, spent):
    charged += spent
    assert search("prismatic") == {"status": "found", "hits": SPAIN, "spent_cents": sum(spent) + 40}
    assert charged == [*spent, 40]


@pytest.mark.parametrize(
    "spent", [[161], [180], [199], [200], [201], [440], [40] * 5, [40] * 11, [100, 61], [100, 100]]
)
def test_what_the_budget_does_not_pay_for_is_refused(charged, spent):
    charged += spent
    assert not attempt("prismatic")
    assert charged == spent


@pytest.mark.parametrize("query", ["", "   ", "unobtainium", ",,,"])
def test_a_search_that_finds_nothing_is_charged_like_any_other(charged, query):
    result = search(query)
    assert (result["status"], result["hits"]) == ("nothing", {})
    assert charged == [40]


@pytest.mark.parametrize("query", ["", "unobtainium", "Voltara " * 1000, None, 7, ["Voltara"]])
def test_no_query_is_charged_once_the_budget_is_spent(charged, query):
    charged += [40] * 5
    assert not attempt(query)
    assert charged == [40] * 5


def test_five_searches_go_through_and_no_more(charged):
    for number in range(1, 6):
        result = search("Voltara")
        assert result["status"] == "found"
        assert result["spent_cents"] == sum(charged) == 40 * number
    for _ in range(6):
        assert not attempt("Voltara")
    assert charged == [40] * 5


def test_searches_that_find_nothing_use_the_budget_up(charged):
    for _ in range(5):
        search("unobtainium")
    assert not attempt("Voltara")
    assert charged == [40] * 5


def test_another_query_is_refused_as_well(charged):
    for name in ("Voltara", "Nordzelle", "Celda", "fair", "price"):
        search(name)
    for name in ("Voltara", "Sweden", "prismatic"):
        assert not attempt(name)
    assert charged == [40] * 5
