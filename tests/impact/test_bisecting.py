"""The search for harmful sites."""

import pytest

from autochron.impact.search import Search
from autochron.model import Effect


@pytest.mark.parametrize("harmful", [set(), {"s3"}, {"s0", "s19"}, {"s7", "s8", "s9"}])
def test_the_search_finds_each_site_that_has_an_effect_at_some_variant(harmful):
    tried = []

    def attempt(variants):
        tried.append(variants)
        hit = [site for site, variant in variants.items() if site in harmful and variant == 2]
        return Effect(f"{hit[0]} changes", "", "") if hit else None

    search = Search({f"s{number}": 4 for number in range(20)}, attempt)
    search.run()
    assert set(search.harmful) == harmful
    assert all(effect.what == f"{site} changes" for site, (_, effect) in search.harmful.items())
    # All variants once more where something was found, since it may have hidden something else.
    assert len(tried) <= (8 if harmful else 4) + 10 * len(harmful)


def test_each_site_is_tried_with_each_variant_once():
    tried = []
    search = Search({"a": 4, "b": 4, "c": 4}, lambda variants: tried.extend(variants.items()))
    search.run()
    assert sorted(tried) == [(site, variant) for site in "abc" for variant in range(4)]


def test_a_site_gets_its_own_number_of_variants():
    tried = []
    Search({"a": 2, "b": 5}, lambda variants: tried.extend(variants.items())).run()
    assert sorted(tried) == [
        *(("a", variant) for variant in range(2)),
        *(("b", variant) for variant in range(5)),
    ]


def test_a_site_that_another_one_hides_is_found_once_that_one_is_known():
    def attempt(variants):
        if variants.get("a") == 1:
            return Effect("a changes", "", "")
        return Effect("b changes", "", "") if variants.get("b") == 0 and "a" not in variants else None

    search = Search({"a": 2, "b": 2}, attempt)
    search.run()
    assert {site: effect.what for site, (_, effect) in search.harmful.items()} == {
        "a": "a changes",
        "b": "b changes",
    }


def test_sites_that_have_an_effect_only_together_are_not_harmful():
    search = Search({"a": 4, "b": 4}, lambda variants: Effect("x", "", "") if len(variants) == 2 else None)
    search.run()
    assert search.harmful == {}
