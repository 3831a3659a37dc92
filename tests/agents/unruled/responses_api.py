"""OpenAI's responses: function calls are items of the output."""

import json

from openai import OpenAI
from tests.agents.footprint import left


def get_horoscope(sign: str) -> str:
    left("get_horoscope")
    return f"{sign}: next Tuesday you will befriend a baby otter."


def lucky_numbers(sign: str, count: int) -> list[int]:
    left("lucky_numbers")
    return [len(sign) * 7 + i * 13 for i in range(count)]


def spec(name, **properties):
    return {
        "type": "function",
        "name": name,
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
        "strict": True,
    }


tools = [
    spec("get_horoscope", sign={"type": "string"}),
    spec("lucky_numbers", sign={"type": "string"}, count={"type": "integer"}),
]
available = {"get_horoscope": get_horoscope, "lucky_numbers": lucky_numbers}

client = OpenAI()
input_list = [{"role": "user", "content": "What is my horoscope? I am an Aquarius. And three numbers."}]
while True:
    response = client.responses.create(model="gpt-5", tools=tools, input=input_list)
    input_list += response.output
    calls = [item for item in response.output if item.type == "function_call"]
    if not calls:
        break
    for item in calls:
        output = available[item.name](**json.loads(item.arguments))
        input_list.append(
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": json.dumps({item.name: output}),
            }
        )
print(response.output_text)
