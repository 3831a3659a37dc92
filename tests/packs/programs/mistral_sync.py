"""An agent on Mistral's SDK: whole, streamed, with tools, and errors that it handles."""

import json
import os

from mistralai.client import Mistral, errors

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def weather(city):
    return {"city": city, "degrees": 4}


def answered(calls):
    for call in calls:
        found = weather(**json.loads(call.function.arguments))
        print("tool:", call.id, found)
        yield {"role": "tool", "name": "weather", "tool_call_id": call.id, "content": json.dumps(found)}


def whole(client):
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        response = client.chat.complete(
            model="mistral-small", messages=messages, tools=TOOLS, temperature=0.2
        )
        message = response.choices[0].message
        print(type(response).__name__, response.id, response.usage.total_tokens, message.content)
        if not message.tool_calls:
            return
        messages += [message, *answered(message.tool_calls)]


def streamed(client):
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        calls, said = [], ""
        with client.chat.stream(model="mistral-small", messages=messages, tools=TOOLS) as stream:
            print(type(stream).__name__, stream.response.status_code)
            for event in stream:
                delta = event.data.choices[0].delta
                said += delta.content or ""
                calls += delta.tool_calls or []
                print(event.data.id, delta.content, event.data.usage)
        if not calls:
            return
        messages += [{"role": "assistant", "content": said, "tool_calls": calls}, *answered(calls)]


def main():
    with Mistral(
        api_key=os.environ.get("MISTRAL_API_KEY", ""), server_url=os.environ.get("MISTRAL_URL")
    ) as client:
        whole(client)
        streamed(client)
        with client.chat.stream(
            model="mistral-small", messages=[{"role": "user", "content": "A story."}]
        ) as stream:
            print(next(iter(stream)).data.choices[0].delta)
        for ask in (client.chat.complete, client.chat.stream):
            try:
                ask(model="mistral-small", messages=[{"role": "user", "content": "fail"}])
            except errors.MistralError as error:
                print(type(error).__name__, error.status_code, error.body)


if __name__ == "__main__":
    main()
