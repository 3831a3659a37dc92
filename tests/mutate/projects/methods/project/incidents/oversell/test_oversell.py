import contextlib

import clerk
import pytest

WISH = "I would like 40 mugs, please."
SMALL = "I would like 24 bowls, please."


@pytest.mark.autochron("trace.jsonl", live=["reserve"], predicate="predicate.py")
def test_nobody_gets_more_than_the_limit(replay):
    with contextlib.suppress(Exception):
        clerk.main(WISH)
    assert replay.called("reserve")


@pytest.mark.autochron("twin.jsonl", live=["reserve"], predicate="predicate.py", part="twin")
def test_a_usual_order_is_reserved(replay):
    clerk.main(SMALL)
    assert clerk.house.reserved == {"C-7": {"bowl": 24}}
    assert clerk.house.stock["bowl"] == 1


@pytest.mark.parametrize("pieces", [[25], [0], [-3], [20, 5], [8], [9]], ids=str)
@pytest.mark.autochron("trace.jsonl", live=["reserve"], check=False, predicate="predicate.py", part="edges")
def test_no_call_gets_past(pieces):
    for each in pieces:
        with contextlib.suppress(Exception):
            clerk.house.reserve("C-7", "plate" if each < 10 else "mug", each)
