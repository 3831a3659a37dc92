import pytest


@pytest.mark.autochron("trace.jsonl", live="refund", deny="network,subprocess", predicate="predicate.py")
def test_no_order_is_paid_back_twice(replay):
    replay.run()
    replay.assert_not_reproduced("refund[1]")


@pytest.mark.autochron(
    "usual.jsonl", live="refund", deny="network,subprocess", predicate="predicate.py", part="twin"
)
def test_an_order_is_paid_back(replay):
    replay.run()
    assert replay["refund[1]"].result == {"status": "paid back", "order": "R8", "cents": 2500}
