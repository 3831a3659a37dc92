"""Requests that no SDK's model call lies around are crossings of their own, by an `http` rule."""

import sys
import threading

import httpx
import pytest

from autochron.replaying import schedule
from tests.agents.cases import HTTP
from tests.agents.workshop import Block

URL = "http://127.0.0.1:9/v1/chat/completions"


@pytest.fixture
def block(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(f"version = 1\npacks = []\n{HTTP}", encoding="utf-8")
    return Block(str(file))


def test_one_that_was_answered_has_had_its_turn(block, monkeypatch):
    # Whoever waits for a turn that doesn't come would wait for longer than a test may take.
    monkeypatch.setattr(schedule, "PATIENCE", 600.0)
    reached = []

    def answer(request):
        reached.append(request)
        if b"broken" in request.content:
            raise httpx.ConnectError("no way")
        return httpx.Response(200, json={"n": len(request.content)})

    def ask(word):
        try:
            with httpx.Client(transport=httpx.MockTransport(answer)) as client:
                return client.post(URL, json={"word": word}).json()
        except httpx.ConnectError as error:
            return str(error)

    def in_a_thread(word):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(ask(word)))
        thread.start()
        thread.join()
        return answers

    def use():
        return ask("one"), ask("broken"), in_a_thread("two"), ask("three"), in_a_thread("broken"), ask("four")

    given, trace = block.record(use)
    assert (given[0], given[1], given[2]) == ({"n": 14}, "no way", [{"n": 14}])
    assert len(reached) == 6
    assert block.replay(trace, use) == (given, ())
    assert len(reached) == 6


def test_a_stream_that_hands_out_an_item_before_it_sends_is_known_by_its_request(tmp_path):
    rule = 'name = "agent"\nkind = "model"\ncodec = "http"\ndefine = "client:ask"\n'
    (tmp_path / "autochron.toml").write_text(
        f'version = 1\npacks = []\nproject = ["client.py"]\n[[boundary]]\n{rule}', encoding="utf-8"
    )
    (tmp_path / "client.py").write_text(
        """
import httpx


def ask(url, prompt):
    yield "first"
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json={"n": 1}))
    with httpx.Client(transport=answer) as client:
        yield client.post(url, json={"prompt": prompt}).json()
""",
        encoding="utf-8",
    )

    def use():
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(str(tmp_path))
            patch.delitem(sys.modules, "client", raising=False)
            import client

            return list(client.ask(URL, "hi"))

    block = Block(str(tmp_path / "autochron.toml"))
    given, trace = block.record(use)
    assert given == ["first", {"n": 1}]
    assert (
        trace.envelopes[0].input == b'{"body":{"prompt":"hi"},"method":"POST","path":"/v1/chat/completions"}'
    )
    assert block.replay(trace, use) == (given, ())
