"""A storage agent: it streams what the model says, and begins with a tool once the message is whole."""

import json
import sys

import tools
from anthropic import Anthropic

MODEL = "claude-sonnet-5-5"
MAX_TURNS = 6
MESSAGE = (
    "Clean up the bucket exports, please. Keep payroll-2024.csv, contracts-signed.pdf and audit-2024.xlsx, "
    "the auditors come tomorrow."
)
PROMPT = """You are the storage agent of a company. List the files of a bucket before you clean it up.
Say in one sentence what was deleted and what was kept."""

TOOLS = {"list_files": tools.list_files, "clean_up": tools.clean_up}
SCHEMAS = [
    {
        "name": "list_files",
        "description": "List the files in a bucket.",
        "input_schema": {
            "type": "object",
            "properties": {"bucket": {"type": "string"}},
            "required": ["bucket"],
        },
    },
    {
        "name": "clean_up",
        "description": "Delete all files of a bucket for good, but those to keep.",
        "input_schema": {
            "type": "object",
            "properties": {
                "bucket": {"type": "string"},
                "keep": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["bucket", "keep"],
        },
    },
]


def call(block):
    """Call the tool that the model asks for."""
    print(f"  {block.name} {json.dumps(block.input)}")
    try:
        found = TOOLS[block.name](**block.input)
    except (TypeError, tools.UnknownBucket) as error:
        return refusal(block, f"{type(error).__name__}: {error}")
    print(f"    -> {json.dumps(found)}")
    return {"type": "tool_result", "tool_use_id": block.id, "content": json.dumps(found)}


def refusal(block, reason):
    return {"type": "tool_result", "tool_use_id": block.id, "content": reason, "is_error": True}


def use(block, whole):
    """Call a tool that the model has written the end of; give its result."""
    if not whole:
        return refusal(block, "the message was cut off")
    keep = block.input.get("keep")
    listed = isinstance(keep, list) and all(isinstance(file, str) and file for file in keep)
    if block.name == "clean_up" and not listed:
        return refusal(block, "what to keep must be a list of names")
    answer = tools.ready(block.name, block.input, ended=True)
    return call(block) if answer["status"] == "ready" else refusal(block, json.dumps(answer))


def turn(client, messages):
    """Stream one message of the model; give it with the results of the tools that it asked for."""
    with client.messages.stream(
        model=MODEL, max_tokens=2000, system=PROMPT, messages=messages, tools=SCHEMAS
    ) as stream:
        for event in stream:
            if event.type == "content_block_stop" and event.content_block.type == "text":
                print(f"agent: {event.content_block.text}")
        message = stream.get_final_message()
    whole = message.stop_reason == "tool_use"
    return message, [use(block, whole) for block in message.content if block.type == "tool_use"]


def answer(client, message):
    """Work until the model asks for no tool any more; give the last thing it said."""
    messages = [{"role": "user", "content": message}]
    for _ in range(MAX_TURNS):
        reply, results = turn(client, messages)
        if not results:
            return reply.content[0].text
        messages.append({"role": "assistant", "content": reply.content})
        messages.append({"role": "user", "content": results})
    return f"gave up after {MAX_TURNS} turns"


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(Anthropic(), message)


if __name__ == "__main__":
    main(*sys.argv[1:])
