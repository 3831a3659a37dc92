"""The search for harmful sites."""

import pytest

from autochron.impact.search import Search
from autochron.model import Effect


@pytest.mark.parametrize("harmful", [set(), {"s3"}, {"s0", "s19"}, {"s7", "s8", "s9"}])
def test_it_finds_each_that_changes_something_at_any_variant(harmful):
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


def test_each_site_sees_each_variant_once():
    seen = []
    search = Search(["a", "b", "c"], 4, lambda variants: seen.extend(variants.items()))
    search.run()
    assert sorted(seen) == [(site, variant) for site in "abc" for variant in range(4)]


def test_what_changes_something_only_together_is_not_said_of_either():
    search = Search(["a", "b"], 4, lambda variants: Effect("x", "", "") if len(variants) == 2 else None)
    search.run()
    assert search.harmful == {}
