"""All in `main`: the tools are functions of its own, found by `locals()`."""

import json

from openai import OpenAI

from tests.agents.footprint import left


def main():
    client = OpenAI()
    score = {"home": 1, "away": 2}

    def get_score():
        left("get_score")
        return score

    def add_goal(team):
        left("add_goal")
        score[team] += 1
        return {"goal_for": team, **score}

    here = locals()
    parameters = {"get_score": {}, "add_goal": {"team": {"type": "string", "enum": ["home", "away"]}}}
    tools = [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": p, "required": list(p)}},
        }
        for name, p in parameters.items()
    ]
    messages = [{"role": "user", "content": "Home scores! What is it now?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = here[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    print(main())
