"""Requests outside every SDK's model call are crossings of their own, by an `http` rule."""

import sys
import threading

import pytest

from autochron.replaying import schedule
from tests.agents.cases import HTTP
from tests.agents.workshop import Block
from tests.late import httpx

pytestmark = pytest.mark.sdks

URL = "http://127.0.0.1:9/v1/chat/completions"


@pytest.fixture
def block(tmp_path):
    file = tmp_path / "autochron.toml"
    file.write_text(f"version = 1\npacks = []\n{HTTP}", encoding="utf-8")
    return Block(str(file))


def test_an_answered_request_ends_its_turn(block, monkeypatch):
    # A crossing that waits for a turn that never comes would exceed the time limit of the test.
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

    result, trace = block.record(use)
    assert (result[0], result[1], result[2]) == ({"n": 14}, "no way", [{"n": 14}])
    assert len(reached) == 6
    assert block.replay(trace, use) == (result, ())
    assert len(reached) == 6


def test_a_stream_that_yields_before_it_sends_has_its_request_as_input(tmp_path):
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
    items, trace = block.record(use)
    assert items == ["first", {"n": 1}]
    assert (
        trace.envelopes[0].input == b'{"body":{"prompt":"hi"},"method":"POST","path":"/v1/chat/completions"}'
    )
    assert block.replay(trace, use) == (items, ())
