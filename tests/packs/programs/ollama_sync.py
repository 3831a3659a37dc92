"""An agent on ollama's own functions, and on a client: whole, streamed, with tools, and an error that it handles."""

import ollama

TOWNS = {"Oslo": 4, "Rome": 21}


def weather(city: str) -> str:
    """Return the weather.

    Args:
        city: where.
    """
    return f"{TOWNS.get(city, 12)} degrees in {city}"


def run_tools(message, messages):
    messages.append(message)
    for call in message.tool_calls or ():
        found = {"weather": weather}[call.function.name](**call.function.arguments)
        print("tool:", call.function.name, call.function.arguments, found)
        messages.append({"role": "tool", "tool_name": call.function.name, "content": found})


def whole():
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        response = ollama.chat("llama3.2", messages=messages, tools=[weather], options={"temperature": 0.3})
        print(type(response).__name__, response.created_at, response.eval_count, response.done_reason)
        print("agent:", response.message.content)
        if not response.message.tool_calls:
            return
        run_tools(response.message, messages)


def streamed(client):
    messages = [{"role": "user", "content": "How is the weather?"}]
    for _ in range(3):
        calls = []
        for part in client.chat("llama3.2", messages=messages, tools=[weather], stream=True):
            print(type(part).__name__, repr(part.message.content), part.eval_count)
            calls += [part.message] if part.message.tool_calls else []
        if not calls:
            return
        for message in calls:
            run_tools(message, messages)


def left_early(client):
    stream = client.chat("llama3.2", messages=[{"role": "user", "content": "A story."}], stream=True)
    print(next(stream).message.content)
    stream.close()
    client.chat("llama3.2", messages=[{"role": "user", "content": "Never read."}], stream=True)


HELD = []


def left_open(client):
    """Hold a stream until the program ends."""
    HELD.append(client.chat("llama3.2", messages=[{"role": "user", "content": "A long one."}], stream=True))
    print(next(HELD[0]).message.content)


def main():
    client = ollama.Client()
    whole()
    streamed(client)
    left_early(client)
    left_open(client)
    for stream in (False, True):
        try:
            for part in client.chat("llama3.2", [{"role": "user", "content": "fail"}], stream=stream):
                print(part)
        except ollama.ResponseError as error:
            print(type(error).__name__, error.status_code, error.error)


if __name__ == "__main__":
    main()
