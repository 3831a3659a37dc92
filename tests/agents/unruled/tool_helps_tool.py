"""A tool uses another tool as a helper; later the model asks for that one, too."""

import json

from openai import OpenAI

from tests.agents.footprint import left

PEOPLE = {"ada": {"city": "London", "team": "engines"}, "emmy": {"city": "Erlangen", "team": "rings"}}


def find_person(name):
    left("find_person")
    return {"name": name, **PEOPLE[name]}


def plan_meeting(first, second):
    left("plan_meeting")
    people = [find_person(first), find_person(second)]
    return {"where": people[0]["city"], "who": [p["name"] for p in people], "topic": people[1]["team"]}


def as_tool(f, *names):
    parameters = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}
    return {"type": "function", "function": {"name": f.__name__, "parameters": parameters}}


class Secretary:
    abilities = {"find_person": find_person, "plan_meeting": plan_meeting}
    declared = [as_tool(find_person, "name"), as_tool(plan_meeting, "first", "second")]

    def run(self, task):
        client = OpenAI()
        history = [{"role": "user", "content": task}]
        while True:
            message = client.chat.completions.create(
                model="gpt-4o", messages=history, tools=self.declared
            ).choices[0].message
            history.append(message)
            if not message.tool_calls:
                return message.content
            for call in message.tool_calls:
                ability = self.abilities[call.function.name]
                result = ability(**json.loads(call.function.arguments))
                history.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(Secretary().run("Let Ada and Emmy meet, and what was Emmy's team again?"))
