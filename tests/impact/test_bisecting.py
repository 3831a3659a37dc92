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

    search = Search([f"s{number}" for number in range(20)], 4, attempt)
    search.run()
    assert set(search.harmful) == harmful
    assert all(effect.what == f"{site} changes" for site, (_, effect) in search.harmful.items())
    assert len(tried) <= 4 + 10 * len(harmful)


def test_each_site_is_tried_with_each_variant_once():
    tried = []
    search = Search(["a", "b", "c"], 4, lambda variants: tried.extend(variants.items()))
    search.run()
    assert sorted(tried) == [(site, variant) for site in "abc" for variant in range(4)]


def test_sites_that_have_an_effect_only_together_are_not_harmful():
    search = Search(["a", "b"], 4, lambda variants: Effect("x", "", "") if len(variants) == 2 else None)
    search.run()
    assert search.harmful == {}
