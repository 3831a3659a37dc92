"""The storage agent with its real tools and the fix, and a transport that streams by hand what the model said."""

import asyncio
import inspect
import json

import agent
import guarded
import httpx2
import pytest
import tools
from anthropic import Anthropic

KEPT = ["payroll-2024.csv", "contracts-signed.pdf", "audit-2024.xlsx"]
LISTING = ['{"bucke', "t", '": "exports', '"', "}"]
CLEANING = [
    '{"bu',
    "ck",
    "et",
    '": "ex',
    "port",
    's", "keep": ',
    '["',
    "payroll-2024",
    '.csv", "',
    "co",
    "ntracts",
    "-sign",
    'ed.pdf", "au',
    "di",
    "t-20",
    "24.xls",
    'x"]}',
]
"""The arguments in the pieces in which they came."""


@pytest.fixture(autouse=True)
def buckets():
    """Leave the buckets as they were."""
    before = {name: list(files) for name, files in tools.BUCKETS.items()}
    yield tools.BUCKETS
    tools.BUCKETS.clear()
    tools.BUCKETS.update(before)


@pytest.fixture(autouse=True)
def raised(monkeypatch):
    """Put the fix in the place of the tool; give what it raises."""
    errors = []

    def ready(*arguments, **named):
        try:
            result = guarded.ready(*arguments, **named)
            return asyncio.run(result) if inspect.isawaitable(result) else result
        except Exception as error:
            errors.append(error)
            raise

    monkeypatch.setattr(tools, "ready", ready)
    return errors


def block(index, start, *deltas):
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def model_says(text, name=None, pieces=()):
    """Make the body of a streamed message, with a call of a tool or without."""
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": agent.MODEL, "content": []}
    usage = {"input_tokens": 214, "output_tokens": 1}
    start = {**about, "stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [{"type": "message_start", "message": start}]
    events += block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    if name:
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        events += block(1, {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}}, *deltas)
    end = {"stop_reason": "tool_use" if name else "end_turn", "stop_sequence": None}
    events += [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 17}}]
    events += [{"type": "message_stop"}]
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


@pytest.fixture
def serve():
    """Make a client whose requests are kept, and answered with the given streams in order."""
    requests = []

    def client_of(*streams):
        left = iter(streams)

        def handle(request):
            requests.append(json.loads(request.content))
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=next(left))

        http = httpx2.Client(transport=httpx2.MockTransport(handle))
        return Anthropic(api_key="dummy", base_url="http://127.0.0.1", http_client=http, max_retries=0)

    client_of.requests = requests
    return client_of


def test_the_files_to_keep_are_all_kept_while_the_list_of_them_is_written(serve, buckets, raised):
    client = serve(
        model_says("I will look at what is there.", "list_files", LISTING),
        model_says("I clean up the bucket, and keep the three files.", "clean_up", CLEANING),
        model_says("Done: the two drafts were deleted, and your three files are still there."),
    )
    try:
        said = agent.answer(client, agent.MESSAGE)
    except Exception as error:
        if error not in raised:
            raise
    else:
        assert said == "Done: the two drafts were deleted, and your three files are still there."
        [result] = serve.requests[-1]["messages"][-1]["content"]
        told = {"bucket": "exports", "deleted": ["draft-1.csv", "draft-2.csv"], "kept": KEPT}
        assert json.loads(result["content"]) == told
        assert buckets["exports"] == KEPT
    assert set(KEPT) <= set(buckets["exports"])
    assert buckets["photos"] == ["team.jpg", "office.jpg"]


def test_a_bucket_is_cleaned_up_but_for_one_file(serve, buckets):
    client = serve(
        model_says("I will look at what is there.", "list_files", ['{"bucket": "ph', 'otos"}']),
        model_says("I clean up.", "clean_up", ['{"bucket": "photos", ', '"keep": ["te', 'am.jpg"', "]}"]),
        model_says("Done: office.jpg was deleted, and team.jpg was kept."),
    )
    said = agent.answer(client, "Clean up the bucket photos, please. Keep team.jpg only.")
    assert said == "Done: office.jpg was deleted, and team.jpg was kept."
    assert buckets["photos"] == ["team.jpg"]
    assert buckets["exports"] == [*KEPT, "draft-1.csv", "draft-2.csv"]
    [result] = serve.requests[-1]["messages"][-1]["content"]
    told = {"bucket": "photos", "deleted": ["office.jpg"], "kept": ["team.jpg"]}
    assert json.loads(result["content"]) == told
