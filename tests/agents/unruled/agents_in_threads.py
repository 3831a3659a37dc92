"""Two workers with a client each; the tools of both have the same names, and run at the same time."""

import json
import threading

import anthropic
import openai

from tests.agents.footprint import left


class OpenAIWorker:
    def __init__(self):
        self.answer = None

    def get_document(self, name):
        left("get_document")
        return {"name": name, "text": "We, the people", "source": "vault"}

    def work(self):
        client = openai.OpenAI()
        messages = [{"role": "user", "content": "First worker: how does the charter begin?"}]
        tool = {"type": "function", "function": {"name": "get_document", "parameters": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}
        while self.answer is None:
            m = client.chat.completions.create(model="gpt-4o", messages=messages, tools=[tool]).choices[0].message
            messages.append(m)
            for c in m.tool_calls or []:
                value = getattr(self, c.function.name)(**json.loads(c.function.arguments))
                messages.append({"role": "tool", "tool_call_id": c.id, "content": json.dumps(value)})
            self.answer = None if m.tool_calls else m.content


class ClaudeWorker:
    def __init__(self):
        self.answer = None

    def get_document(self, name):
        left("get_document")
        return f"{name.upper()}: all men are mortal"

    def work(self):
        client = anthropic.Anthropic()
        messages = [{"role": "user", "content": "Second worker: what does the syllogism say?"}]
        tool = {"name": "get_document", "input_schema": {
            "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
        while self.answer is None:
            m = client.messages.create(model="claude-haiku-4-5", max_tokens=99, messages=messages, tools=[tool])
            messages.append({"role": "assistant", "content": m.content})
            uses = [b for b in m.content if b.type == "tool_use"]
            if uses:
                messages.append({"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": b.id, "content": getattr(self, b.name)(**b.input)}
                    for b in uses]})
            else:
                self.answer = m.content[0].text


workers = [OpenAIWorker(), ClaudeWorker()]
threads = [threading.Thread(target=worker.work) for worker in workers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for worker in workers:
    print(worker.answer)
