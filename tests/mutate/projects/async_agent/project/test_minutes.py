import contextlib

import mailer
import post
import pytest

SWAP = {"post.py:send": "guarded.py:send"}


@pytest.mark.autochron("minutes.jsonl", live=["send"], swap=SWAP, predicate="predicate.py")
def test_no_minutes_for_the_press(replay):
    with contextlib.suppress(Exception):
        mailer.main("send the minutes to anna, the board and the press")
    assert replay.called("send", to="desk@daily.example")


@pytest.mark.autochron("inside.jsonl", live=["send"], swap=SWAP, predicate="predicate.py", part="twin")
def test_the_house_gets_the_minutes(replay):
    mailer.main("send the minutes to anna and the board")
    assert [(mail["to"], mail["attachments"]) for mail in post.outbox] == [
        ("anna@house.example", 3),
        ("board@house.example", 3),
    ]
