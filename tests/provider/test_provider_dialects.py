"""The wire formats of ollama, Mistral, Groq, Cohere, Google and Bedrock."""

import base64
import http.client
import json
from urllib.parse import urlsplit

import pytest

from autochron import provider
from autochron.provider import Provider, Script

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
ASK = [{"role": "user", "content": "How is the weather?"}]


def post(p: Provider, path, body, **headers):
    """Return (status, headers, body) of a POST."""
    connection = http.client.HTTPConnection(urlsplit(p.origin).netloc, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json", **headers})
        response = connection.getresponse()
        return (
            response.status,
            {key.lower(): value for key, value in response.getheaders()},
            response.read(),
        )
    finally:
        connection.close()


def lines(body):
    return [json.loads(line) for line in body.splitlines()]


def events(body):
    return [line.removeprefix(b"data: ") for line in body.split(b"\n\n") if line]


def test_ollama_responds_whole_and_in_lines(scripted):
    request = {"model": "m", "messages": ASK, "tools": FUNCTION}
    _, _, whole = post(scripted, "/api/chat", {**request, "stream": False})
    message = json.loads(whole)["message"]
    assert message["content"] in ("Let me look.", "Let me see.")
    assert [call["function"]["name"] for call in message["tool_calls"]] == ["weather", "weather"]
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Oslo"}

    _, headers, streamed = post(scripted, "/api/chat", request)
    parts = lines(streamed)
    assert headers["content-type"] == "application/x-ndjson"
    assert "".join(part["message"]["content"] for part in parts) in ("Let me look.", "Let me see.")
    assert [part["done"] for part in parts] == [*[False] * (len(parts) - 1), True]
    assert [len(part["message"]["tool_calls"]) for part in parts if "tool_calls" in part["message"]] == [2]
    assert parts[-1]["eval_count"] > 0


def test_mistral_sends_a_tool_call_in_one_piece(scripted):
    request = {"model": "m", "messages": ASK, "tools": FUNCTION, "tool_choice": "any"}
    _, _, whole = post(scripted, "/mistral/v1/chat/completions", request)
    [choice] = json.loads(whole)["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert {len(call["id"]) for call in choice["message"]["tool_calls"]} == {9}

    _, headers, streamed = post(scripted, "/mistral/v1/chat/completions", {**request, "stream": True})
    *parts, last, done = events(streamed)
    assert (headers["content-type"], done) == ("text/event-stream", b"[DONE]")
    assert all("tool_calls" not in json.loads(part)["choices"][0]["delta"] for part in parts)
    calls = json.loads(last)["choices"][0]["delta"]["tool_calls"]
    assert json.loads(calls[0]["function"]["arguments"]) == {"city": "Oslo"}


def test_groq_tells_the_usage_of_a_stream_in_its_last_event(scripted):
    request = {"model": "m", "messages": ASK, "tools": FUNCTION}
    _, _, whole = post(scripted, "/openai/v1/chat/completions", request)
    body = json.loads(whole)
    assert [call["function"]["name"] for call in body["choices"][0]["message"]["tool_calls"]] == [
        "weather"
    ] * 2
    assert body["x_groq"]["id"].startswith("req_")

    _, _, streamed = post(scripted, "/openai/v1/chat/completions", {**request, "stream": True})
    first, *middle, last, done = events(streamed)
    assert done == b"[DONE]"
    assert json.loads(first)["x_groq"] == {"id": json.loads(last)["x_groq"]["id"]}
    assert [part for part in middle if "x_groq" in json.loads(part)] == []
    usage = json.loads(last)["x_groq"]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


def test_cohere_responds_whole_and_in_typed_events(scripted):
    request = {"model": "m", "messages": ASK, "tools": FUNCTION}
    _, _, whole = post(scripted, "/v2/chat", request)
    body = json.loads(whole)
    assert (body["finish_reason"], "content" in body["message"]) == ("TOOL_CALL", False)
    assert body["message"]["tool_plan"] in ("Let me look.", "Let me see.")
    assert json.loads(body["message"]["tool_calls"][0]["function"]["arguments"]) == {"city": "Oslo"}

    _, headers, streamed = post(scripted, "/v2/chat", {**request, "stream": True})
    *typed, done = streamed.rstrip().split(b"\n\n")
    assert (headers["content-type"], done) == ("text/event-stream", b"data: [DONE]")
    parts = [json.loads(part.partition(b"\ndata: ")[2]) for part in typed]
    assert [part.split(b"\n")[0].decode() for part in typed] == [f"event: {part['type']}" for part in parts]
    kinds = [part["type"] for part in parts]
    assert (kinds[0], kinds[-1]) == ("message-start", "message-end")
    assert (kinds.count("tool-call-start"), kinds.count("tool-call-end")) == (2, 2)
    pieces = [
        part["delta"]["message"]["tool_calls"]["function"]["arguments"]
        for part in parts
        if "tool-call" in part["type"] and "delta" in part and part["index"] == 0
    ]
    assert json.loads("".join(pieces)) == {"city": "Oslo"}
    assert parts[-1]["delta"]["usage"]["tokens"]["output_tokens"] > 0

    _, _, streamed = post(scripted, "/v2/chat", {"messages": SAID_TO_COHERE, "stream": True})
    assert streamed.count(b"event: content-start") == streamed.count(b"event: content-end") == 1


SAID_TO_COHERE = [
    *ASK,
    {"role": "assistant", "tool_plan": "x", "tool_calls": []},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": "mild"}}]},
]


CONTENTS = [{"role": "user", "parts": [{"text": "How is the weather?"}]}]
DECLARED = {"name": "weather", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}


def test_google_responds_whole_and_in_events(scripted):
    request = {"contents": CONTENTS, "tools": [{"functionDeclarations": [DECLARED]}]}
    _, _, whole = post(scripted, "/v1beta/models/m:generateContent", request)
    body = json.loads(whole)
    text, oslo, _ = body["candidates"][0]["content"]["parts"]
    assert text["text"] in ("Let me look.", "Let me see.")
    assert oslo == {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}
    assert body["modelVersion"] == "m"

    _, headers, streamed = post(scripted, "/v1/models/m:streamGenerateContent?alt=sse", request)
    chunks = [json.loads(event) for event in events(streamed)]
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    assert headers["content-type"] == "text/event-stream"
    assert "".join(part.get("text", "") for part in parts) in ("Let me look.", "Let me see.")
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == ["weather"] * 2
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks][-2:] == [None, "STOP"]

    results = [{"functionResponse": {"name": "weather", "response": {"result": "mild"}}}]
    turns = [
        *CONTENTS,
        {"role": "model", "parts": [{"text": "x"}]},
        {"role": "user", "parts": results},
    ]
    _, _, second = post(scripted, "/v1/models/m:generateContent", {**request, "contents": turns})
    assert json.loads(second)["candidates"][0]["content"]["parts"][0]["text"].startswith("It is ")


SAID = [{"role": "user", "content": [{"text": "How is the weather?"}]}]
SPECS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]}


def test_bedrock_converses_whole_and_in_frames(scripted):
    request = {"messages": SAID, "toolConfig": SPECS}
    _, _, whole = post(scripted, "/model/m/converse", request)
    body = json.loads(whole)
    text, oslo, _ = body["output"]["message"]["content"]
    assert text["text"] in ("Let me look.", "Let me see.")
    assert (oslo["toolUse"]["name"], oslo["toolUse"]["input"]) == ("weather", {"city": "Oslo"})
    assert body["stopReason"] == "tool_use"

    _, headers, streamed = post(scripted, "/model/m/converse-stream", request)
    assert headers["content-type"] == "application/vnd.amazon.eventstream"
    parsed = frames(streamed)
    assert [kind for kind, _ in parsed][:2] == ["messageStart", "contentBlockDelta"]
    assert [kind for kind, _ in parsed][-2:] == ["messageStop", "metadata"]
    names = [payload["start"]["toolUse"]["name"] for kind, payload in parsed if kind == "contentBlockStart"]
    assert names == ["weather", "weather"]


def test_bedrock_invokes_a_model_whole_and_in_chunks(scripted):
    request = {"max_tokens": 9, "messages": ASK, "tools": [{"name": "weather", "input_schema": SCHEMA}]}
    _, _, whole = post(scripted, "/model/m/invoke", request)
    assert json.loads(whole)["stop_reason"] == "tool_use"
    _, _, streamed = post(scripted, "/model/m/invoke-with-response-stream", request)
    chunks = [json.loads(base64.b64decode(payload["bytes"])) for _, payload in frames(streamed)]
    assert (chunks[0]["type"], chunks[-1]["type"]) == ("message_start", "message_stop")


def frames(content):
    """Return (type, payload) of each frame, read by botocore, which checks the checksums."""
    eventstream = pytest.importorskip("botocore.eventstream", reason="boto3 is not installed")
    buffer = eventstream.EventStreamBuffer()
    buffer.add_data(content)
    return [(frame.headers[":event-type"], json.loads(frame.payload)) for frame in buffer]


def bodies_of(path, request):
    with provider.serve(seed=7) as running:
        return [post(running, path, request)[2] for _ in range(3)]


PATHS = {
    "/model/m/converse-stream": {"messages": SAID, "toolConfig": SPECS},
    "/v1beta/models/m:streamGenerateContent?alt=sse": {
        "contents": CONTENTS,
        "tools": [{"functionDeclarations": [DECLARED]}],
    },
    "/api/chat": {"model": "m", "messages": ASK, "tools": FUNCTION},
    "/mistral/v1/chat/completions": {"model": "m", "messages": ASK, "tools": FUNCTION, "stream": True},
    "/openai/v1/chat/completions": {"model": "m", "messages": ASK, "tools": FUNCTION, "stream": True},
    "/v2/chat": {"model": "m", "messages": ASK, "tools": FUNCTION, "stream": True},
}


@pytest.mark.parametrize("path", PATHS)
def test_one_seed_gives_the_same_answers(path):
    assert bodies_of(path, PATHS[path]) == bodies_of(path, PATHS[path])


ERRORS = {
    "/model/m/converse-stream": {"message": "429 on request"},
    "/v1beta/models/m:streamGenerateContent?alt=sse": {
        "error": {"code": 429, "message": "429 on request", "status": "RESOURCE_EXHAUSTED"}
    },
    "/api/chat": {"error": "429 on request"},
    "/mistral/v1/chat/completions": {
        "object": "error",
        "message": "429 on request",
        "type": "too_many_requests",
        "param": None,
        "code": "429",
    },
    "/openai/v1/chat/completions": {
        "error": {"message": "429 on request", "type": "rate_limit_error", "param": None, "code": None}
    },
    "/v2/chat": {"message": "429 on request"},
}


@pytest.mark.parametrize("path", ERRORS)
def test_an_error_has_the_form_of_its_api(path, scripted):
    status, headers, body = post(scripted, path, PATHS[path], **{"x-loopback": "429"})
    assert (status, json.loads(body)) == (429, ERRORS[path])
    kind = "ThrottlingException" if path.startswith("/model/") else None
    assert headers.get("x-amzn-errortype") == kind


def chat(result):
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    tool_result = {"role": "tool", "tool_call_id": "c1", "content": result}
    return {"model": "m", "messages": [*ASK, {"role": "assistant", "tool_calls": [call]}, tool_result]}


def anthropic(result):
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    tool_result = {"type": "tool_result", "tool_use_id": "t1", "content": result}
    messages = [*ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": [tool_result]}]
    return {"model": "m", "max_tokens": 9, "messages": messages}


def responses(result):
    call = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"}
    return {
        "model": "m",
        "input": [*ASK, call, {"type": "function_call_output", "call_id": "c1", "output": result}],
    }


def google(result):
    tool_result = {"functionResponse": {"name": "weather", "response": {"result": result}}}
    call = {"functionCall": {"name": "weather", "args": {}}}
    return {
        "contents": [*CONTENTS, {"role": "model", "parts": [call]}, {"role": "user", "parts": [tool_result]}],
    }


def bedrock(result):
    tool_result = {"toolResult": {"toolUseId": "t1", "content": [{"text": result}]}}
    call = {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {}}}
    question = {"role": "user", "content": [{"text": "How is the weather?"}]}
    answer = {"role": "assistant", "content": [call]}
    return {"messages": [question, answer, {"role": "user", "content": [tool_result]}]}


def cohere(result):
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    documents = [{"type": "document", "document": {"data": result}}]
    tool_result = {"role": "tool", "tool_call_id": "c1", "content": documents}
    return {"model": "m", "messages": [*ASK, {"role": "assistant", "tool_calls": [call]}, tool_result]}


WITH_TOOL_RESULT = {
    "/v2/chat": cohere,
    "/v1/chat/completions": chat,
    "/v1/messages": anthropic,
    "/v1/responses": responses,
    "/v1beta/models/m:generateContent": google,
    "/model/m/converse": bedrock,
    "/api/chat": lambda result: {**chat(result), "stream": False},
}


@pytest.mark.parametrize("path", WITH_TOOL_RESULT)
def test_a_step_can_depend_on_the_result_of_a_tool(path):
    script = {
        "steps": [{"turn": 1, "when": "no such city", "text": "Nowhere."}, {"turn": 1, "text": "It is mild."}]
    }
    with provider.serve(script=Script.from_data(script)) as running:
        responses_of_results = [
            post(running, path, WITH_TOOL_RESULT[path](result))[2]
            for result in ("No such city: Atlantis", "mild, dry")
        ]
    assert [b"Nowhere." in body for body in responses_of_results] == [True, False]
    assert b"It is mild." in responses_of_results[1]
