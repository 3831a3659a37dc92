import importlib
import json
import pkgutil

from openai import OpenAI

from toolfiles import tools

MODULES = {info.name: importlib.import_module(f"toolfiles.tools.{info.name}") for info in pkgutil.iter_modules(tools.__path__)}


def main():
    client = OpenAI()
    specs = [{"type": "function", "function": {"name": name, "parameters": module.SCHEMA}} for name, module in MODULES.items()]
    messages = [{"role": "user", "content": "What does a parcel of 1500 g to Bonn cost?"}]
    while True:
        message = client.chat.completions.create(model="gpt-4o", messages=messages, tools=specs).choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = MODULES[call.function.name].run(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    print(main())
