"""The responses API: a tool loop, a stream, and one response that goes on from another."""

import json
import random

from openai import OpenAI


def look_up(word):
    return [word, random.randint(1, 1000)]


TOOL = {
    "type": "function",
    "name": "look_up",
    "description": "Look a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    "strict": None,
}


def main():
    client = OpenAI()
    items = [{"role": "user", "content": "What does aestivate mean?"}]
    response = client.responses.create(
        model="gpt-4.1-mini", input=items, tools=[TOOL], tool_choice="required"
    )
    seen = [response]
    for call in response.output:
        print(call.type)
        if call.type == "function_call":
            result = look_up(**json.loads(call.arguments))
            print(call.name, call.arguments, result)
            items += [
                call,
                {"type": "function_call_output", "call_id": call.call_id, "output": json.dumps(result)},
            ]
    answer = client.responses.create(model="gpt-4.1-mini", input=items)
    seen.append(answer)
    print(answer.output_text)
    more = client.responses.create(model="gpt-4.1-mini", input="Go on.", previous_response_id=answer.id)
    seen.append(more)
    print(more.id, more.output_text)
    for event in client.responses.create(model="gpt-4.1-mini", input="Once more.", stream=True):
        seen.append(event)
        print(event.type)
    with client.responses.stream(model="gpt-4.1-mini", input="And again.") as stream:
        for event in stream:
            print(event.type)
        seen.append(stream.get_final_response())
    return seen


if __name__ == "__main__":
    main()
