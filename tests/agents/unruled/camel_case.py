"""The model's names are camelCase, Python's are not."""

import json
import re

from openai import OpenAI

from tests.agents.footprint import left


def _snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class VacationTools:
    def days_left(self, employee_id):
        left("daysLeft")
        return {"employeeId": employee_id, "daysLeft": 12.5}

    def request_leave(self, employee_id, first_day, last_day):
        left("requestLeave")
        return {"status": "pending", "request": f"{employee_id}:{first_day}/{last_day}"}


SCHEMAS = {
    "daysLeft": {"employeeId": "integer"},
    "requestLeave": {"employeeId": "integer", "firstDay": "string", "lastDay": "string"},
}


def tool(name, properties):
    return {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {k: {"type": v} for k, v in properties.items()},
                "required": list(properties),
            },
        },
    }


def invoke(tools, call):
    method = getattr(tools, _snake(call.function.name))
    arguments = {_snake(k): v for k, v in json.loads(call.function.arguments).items()}
    return json.dumps(method(**arguments))


def main():
    client, tools = OpenAI(), VacationTools()
    messages = [{"role": "user", "content": "I am 311. Have I days left? Then I take the first week of May."}]
    while True:
        message = (
            client.chat.completions.create(
                model="gpt-4o", messages=messages, tools=[tool(*item) for item in SCHEMAS.items()]
            )
            .choices[0]
            .message
        )
        messages.append(message)
        if not message.tool_calls:
            print(message.content)
            break
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": invoke(tools, call)} for call in message.tool_calls
        ]


if __name__ == "__main__":
    main()
