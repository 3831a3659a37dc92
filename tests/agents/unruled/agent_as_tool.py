"""One agent is a tool of the other."""

import json

from openai import OpenAI

from tests.agents.footprint import left

client = OpenAI()


def lookup_population(country):
    left("lookup_population")
    return {"country": country, "millions": {"Norway": 5.6, "Chile": 19.7}[country]}


def ask_researcher(question):
    """Let the researcher find out."""
    left("ask_researcher")
    return "The researcher reports: " + loop("You research.", question, RESEARCHER)


def declare(name, parameter):
    return {"type": "function", "function": {"name": name, "parameters": {
        "type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}}}


RESEARCHER = {"lookup_population": (lookup_population, declare("lookup_population", "country"))}
WRITER = {"ask_researcher": (ask_researcher, declare("ask_researcher", "question"))}


def loop(system, task, tools):
    messages = [{"role": "system", "content": system}, {"role": "user", "content": task}]
    while True:
        message = client.chat.completions.create(
            model="gpt-4o", messages=messages, tools=[spec for _, spec in tools.values()]
        ).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            function, _ = tools[call.function.name]
            result = function(**json.loads(call.function.arguments))
            content = result if isinstance(result, str) else json.dumps(result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


print(loop("You write.", "Write a line on the size of Norway and Chile.", WRITER))
