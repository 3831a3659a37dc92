"""Three layers with the same arguments and the same result: only the outermost is the tool."""

import json

from openai import OpenAI

from tests.agents.footprint import left


class Repository:
    rows = {("NL", 2025): 17.9, ("BE", 2025): 11.8}

    def fetch(self, country, year):
        return {"country": country, "year": year, "population_m": self.rows[country, year]}


class Service:
    def __init__(self, repository):
        self.repository = repository

    def population(self, country, year):
        return self.repository.fetch(country, year)


class Facade:
    def __init__(self, service):
        self.service = service

    def statistics(self, country, year):
        left("get_population")
        return self.service.population(country, year)


def on_call(facade, name, arguments):
    if name == "get_population":
        return facade.statistics(arguments["country"], arguments["year"])
    return {"error": f"unknown: {name}"}


SPEC = {"type": "function", "function": {"name": "get_population", "parameters": {
    "type": "object", "properties": {"country": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["country", "year"]}}}


def main():
    facade = Facade(Service(Repository()))
    client = OpenAI()
    messages = [{"role": "user", "content": "Are there more Dutch or more Belgians?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[SPEC]).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = on_call(facade, call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


print(main())
