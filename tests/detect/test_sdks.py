"""Internal calls of SDKs are no findings; their connections and the calls of the user's own lines are."""

import pytest

from tests.detect.running import run

PROGRAM = """
import asyncio, logging, os, time
import anthropic, httpx, openai, requests
def answer(request):
    message = {"role": "assistant", "content": "hi"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return httpx.Response(200, json={"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
MESSAGES = [{"role": "user", "content": "x"}]
client = openai.OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
anthropic.Anthropic(api_key="k")
assert client.chat.completions.create(model="m", messages=MESSAGES).choices[0].message.content == "hi"
nowhere = {"api_key": "k", "base_url": "http://127.0.0.1:1/v1", "max_retries": 1}
try:
    openai.OpenAI(**nowhere).models.list()  # network
except openai.APIConnectionError:
    pass
async def main():
    try:
        await openai.AsyncOpenAI(**nowhere).models.list()  # network
    except openai.APIConnectionError:
        pass
asyncio.run(main())
try:
    requests.get("http://127.0.0.1:1")  # network
except requests.ConnectionError:
    pass
logging.getLogger("shop").warning("%s", "x")
started = time.perf_counter()  # clock
"""


@pytest.mark.slow
def test_creating_sdk_clients_is_no_finding_and_connections_are_found_at_the_line_that_makes_them(tmp_path):
    findings, problems, ended = run(tmp_path, PROGRAM, developing=False)
    lines = PROGRAM.splitlines()
    marked = {number for number, line in enumerate(lines, start=1) if line.endswith(("# network", "# clock"))}
    assert (problems, ended.stderr) == ([], "x\n")
    assert {row[1] for row in findings} == marked
    assert {row[2] for row in findings} == {
        "socket.getaddrinfo",
        "socket.socket.connect",
        "time.perf_counter",
    }
