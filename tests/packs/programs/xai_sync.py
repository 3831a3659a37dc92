"""An agent on xAI's SDK: whole, streamed, parsed, deferred, with tools, and errors that it handles."""

import json
import os
from datetime import timedelta

import grpc
from pydantic import BaseModel
from xai_sdk import Client
from xai_sdk.chat import system, tool, tool_result, user

TOOLS = [
    tool(
        name="weather",
        description="Say how the weather is.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )
]


class Opinion(BaseModel):
    verdict: str


def weather(city):
    return {"city": city, "degrees": 4}


def answered(chat, response):
    """Run the tools that a response asks for; return whether it asks for any."""
    chat.append(response)
    for call in response.tool_calls:
        found = weather(**json.loads(call.function.arguments))
        print("tool:", call.id, found)
        chat.append(tool_result(json.dumps(found)))
    return bool(response.tool_calls)


def whole(client):
    chat = client.chat.create(model="grok-4", tools=TOOLS, temperature=0.2, messages=[system("Be brief.")])
    chat.append(user("How is the weather?"))
    while True:
        response = chat.sample()
        print(type(response).__name__, response.id, response.usage.total_tokens, response.content)
        print(
            response.created,
            response.finish_reason,
            response.proto.SerializeToString(deterministic=True).hex(),
        )
        if not answered(chat, response):
            return


def streamed(client):
    chat = client.chat.create(model="grok-4", tools=TOOLS)
    chat.append(user("How is the weather?"))
    while True:
        for response, chunk in chat.stream():
            print(type(chunk).__name__, chunk.content, chunk.tool_calls)
        print(response.content, response.usage.completion_tokens)
        if not answered(chat, response):
            return


def others(client):
    chat = client.chat.create(model="grok-4", messages=[user("A verdict.")], response_format=Opinion)
    print(chat.parse(Opinion)[1])
    chat = client.chat.create(model="grok-4", messages=[user("A story.")])
    print([response.content for response in chat.sample_batch(2)])
    print(chat.defer(interval=timedelta(milliseconds=10)).content)
    for _, chunk in chat.stream():
        print("the first of several:", chunk.content)
        break
    print(client.tokenize.tokenize_text("Once upon a time", model="grok-4"))


def failing(client):
    chat = client.chat.create(model="grok-4", messages=[user("fail")])
    for ask in (chat.sample, lambda: list(chat.stream())):
        try:
            ask()
        except grpc.RpcError as error:
            print(type(error).__name__, error.code(), error.details(), error.trailing_metadata())
            print(isinstance(error, grpc.Call), error)


def main():
    with Client(api_host=os.environ.get("XAI_API_HOST", "api.x.ai")) as client:
        whole(client)
        streamed(client)
        others(client)
        failing(client)


if __name__ == "__main__":
    main()
