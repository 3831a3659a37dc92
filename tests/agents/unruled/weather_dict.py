"""The agent of every tutorial: functions in a dict."""

import json

from openai import OpenAI
from tests.agents.footprint import left

client = OpenAI()


def get_current_weather(location, unit="celsius"):
    """Get the current weather in a given location."""
    left("get_current_weather")
    return {"location": location, "temperature": "22", "unit": unit, "forecast": ["sunny", "windy"]}


def get_local_time(location):
    left("get_local_time")
    return {"location": location, "time": "14:05"}


available_functions = {
    "get_current_weather": get_current_weather,
    "get_local_time": get_local_time,
}

tools = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a given location",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "The city, e.g. San Francisco"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["location"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "get_local_time",
            "description": "Get the local time of a city",
            "parameters": {
                "type": "object",
                "properties": {"location": {"type": "string"}},
                "required": ["location"],
            },
        },
    },
]


def run_conversation():
    messages = [{"role": "user", "content": "What's the weather like in Lisbon, and how late is it there?"}]
    response = client.chat.completions.create(
        model="gpt-4o", messages=messages, tools=tools, tool_choice="auto"
    )
    response_message = response.choices[0].message
    tool_calls = response_message.tool_calls
    if tool_calls:
        messages.append(response_message)
        for tool_call in tool_calls:
            function_name = tool_call.function.name
            function_to_call = available_functions[function_name]
            function_args = json.loads(tool_call.function.arguments)
            function_response = function_to_call(**function_args)
            messages.append(
                {
                    "tool_call_id": tool_call.id,
                    "role": "tool",
                    "name": function_name,
                    "content": json.dumps(function_response),
                }
            )
        second_response = client.chat.completions.create(model="gpt-4o", messages=messages)
        return second_response
    return response


print(run_conversation().choices[0].message.content)
