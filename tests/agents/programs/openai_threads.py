"""Conversations and tools in worker threads; who is first is left to chance."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

from openai import OpenAI

client = OpenAI()
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMAS = [
    {"type": "function", "function": {"name": name, "parameters": PARAMETERS}}
    for name in ("weather", "hotel")
]


def weather(city):
    time.sleep(random.random() / 100)
    return f"{random.randint(-20, 40)} degrees in {city}"


def hotel(city):
    time.sleep(random.random() / 100)
    return {"city": city, "price": random.random()}


TOOLS = {"weather": weather, "hotel": hotel}


def call_tool(call):
    return TOOLS[call.function.name](**json.loads(call.function.arguments))


def talk(city):
    time.sleep(random.random() / 100)
    messages = [{"role": "user", "content": f"I go to {city}."}]
    response = client.chat.completions.create(
        model="gpt-4.1-mini", messages=messages, tools=SCHEMAS, tool_choice="required"
    )
    calls = response.choices[0].message.tool_calls
    with ThreadPoolExecutor(4) as pool:
        return [response, *pool.map(call_tool, calls)]


def main():
    seen = []
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(talk, ["Oslo", "Rome", "Lima", "Cairo"]):
            print(found[0].id, found[1:])
            seen += found
    results = {}
    threads = [
        Thread(target=lambda city=city: results.update({city: talk(city)})) for city in ("Bern", "Riga")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for city in sorted(results):
        print(city, results[city][0].id, results[city][1:])
        seen += results[city]
    return seen


if __name__ == "__main__":
    main()
