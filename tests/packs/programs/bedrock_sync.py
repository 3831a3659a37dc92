"""An agent on boto3's bedrock-runtime: converse, its stream, invoke, its stream, tools, and errors that it handles."""

import json

import boto3
from botocore.exceptions import ClientError

MODEL = "anthropic.claude-sonnet-4-5-v1:0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]}


def weather(city):
    return {"city": city, "degrees": 4}


def said(text):
    return [{"role": "user", "content": [{"text": text}]}]


def answer(use):
    found = weather(**use["input"])
    print("tool:", use["toolUseId"], found)
    return {"toolResult": {"toolUseId": use["toolUseId"], "content": [{"json": found}]}}


def whole(client):
    messages = said("How is the weather?")
    for _ in range(3):
        response = client.converse(
            modelId=MODEL, messages=messages, toolConfig=TOOLS, inferenceConfig={"temperature": 0.5}
        )
        message = response["output"]["message"]
        print(response["stopReason"], response["usage"], message["content"])
        print(response["ResponseMetadata"]["HTTPStatusCode"], response["ResponseMetadata"]["RetryAttempts"])
        uses = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        if not uses:
            return
        messages += [message, {"role": "user", "content": [answer(use) for use in uses]}]


def streamed(client):
    messages = said("How is the weather?")
    for _ in range(3):
        response = client.converse_stream(modelId=MODEL, messages=messages, toolConfig=TOOLS)
        print(type(response["stream"]).__name__)
        uses, blocks = [], []
        for event in response["stream"]:
            print(event)
            if "contentBlockStart" in event:
                uses.append({**event["contentBlockStart"]["start"]["toolUse"], "input": ""})
            elif "toolUse" in event.get("contentBlockDelta", {}).get("delta", {}):
                uses[-1]["input"] += event["contentBlockDelta"]["delta"]["toolUse"]["input"]
        if not uses:
            return
        uses = [{**use, "input": json.loads(use["input"])} for use in uses]
        blocks = [{"toolUse": use} for use in uses]
        messages += [
            {"role": "assistant", "content": blocks},
            {"role": "user", "content": [answer(use) for use in uses]},
        ]


def invoked(client):
    body = json.dumps({"max_tokens": 9, "messages": [{"role": "user", "content": "A story."}]})
    response = client.invoke_model(modelId=MODEL, body=body)
    print(type(response["body"]).__name__, response["contentType"], json.loads(response["body"].read()))
    response = client.invoke_model(modelId=MODEL, body=body)
    print(response["body"].read(20), response["body"].read(5))
    response["body"].close()
    response = client.invoke_model_with_response_stream(modelId=MODEL, body=body)
    for event in response["body"]:
        print(event["chunk"]["bytes"])
    response = client.invoke_model_with_response_stream(modelId=MODEL, body=body)
    print(next(iter(response["body"])))
    response["body"].close()


def main():
    client = boto3.client("bedrock-runtime")
    whole(client)
    streamed(client)
    invoked(client)
    for ask in (client.converse, client.converse_stream):
        try:
            ask(modelId=MODEL, messages=said("fail"))
        except ClientError as error:
            print(type(error).__name__, error.response["Error"], error)


if __name__ == "__main__":
    main()
