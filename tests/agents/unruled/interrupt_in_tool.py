"""The program is interrupted while a tool runs."""

import json
import time
import signal
import os
import sys

from openai import OpenAI

from tests.agents.footprint import left


def spec(name, **properties):
    kinds = {key: {"type": kind} for key, kind in properties.items()}
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": kinds, "required": list(kinds)}}}


def talk(prompt, specs, run, client=None):
    client = client or OpenAI()
    messages = [{"role": "user", "content": prompt}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=specs).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def wait(seconds):
    left("wait")
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(seconds)
    return "waited"

try:
    print(talk("Wait.", [spec("wait", seconds="integer")], lambda n, a: {"wait": wait}[n](**a)))
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(3)
