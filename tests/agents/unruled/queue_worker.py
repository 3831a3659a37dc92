"""A worker thread takes tool calls from a queue and puts results into another."""

import json
import queue
import threading

from openai import OpenAI

from tests.agents.footprint import left


class Robot:
    def __init__(self):
        self.position = [0, 0]

    def drive(self, dx, dy):
        left("drive")
        self.position = [self.position[0] + dx, self.position[1] + dy]
        return {"at": self.position, "battery": 97 - abs(dx) - abs(dy)}

    def grip(self, force):
        left("grip")
        return f"gripped with {force} newton at {self.position}"


class Worker(threading.Thread):
    def __init__(self, robot):
        super().__init__(daemon=True)
        self.robot, self.jobs, self.results = robot, queue.Queue(), queue.Queue()

    def run(self):
        while (job := self.jobs.get()) is not None:
            name, arguments = job
            self.results.put(getattr(self.robot, name)(**arguments))


INT = {"type": "integer"}
SPECS = [
    {"type": "function", "function": {"name": "drive", "parameters": {
        "type": "object", "properties": {"dx": INT, "dy": INT}, "required": ["dx", "dy"]}}},
    {"type": "function", "function": {"name": "grip", "parameters": {
        "type": "object", "properties": {"force": INT}, "required": ["force"]}}},
]


def main():
    worker = Worker(Robot())
    worker.start()
    client = OpenAI()
    messages = [{"role": "user", "content": "Fetch the cup at 3, 4."}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=SPECS).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            worker.jobs.put((call.function.name, json.loads(call.function.arguments)))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(worker.results.get())})
    worker.jobs.put(None)
    worker.join()
    print(message.content)


if __name__ == "__main__":
    main()
