"""Claude with a ladder of two tools; an error is sent with `is_error`."""

import anthropic
from tests.agents.footprint import left

client = anthropic.Anthropic()

TOOLS = [
    {
        "name": "read_file",
        "description": "Read a file of the project",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    {
        "name": "run_tests",
        "description": "Run the tests",
        "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
    },
]
FILES = {"app.py": "def add(a, b):\n    return a - b\n"}


def _cat(path):
    left("read_file")
    if path not in FILES:
        raise FileNotFoundError(f"no such file: {path}")
    return FILES[path]


def _pytest(pattern):
    left("run_tests")
    return f"2 failed, 17 passed, pattern {pattern!r}"


def process_tool_call(tool_name, tool_input):
    if tool_name == "read_file":
        return _cat(tool_input["path"])
    if tool_name == "run_tests":
        return _pytest(tool_input.get("pattern", ""))
    raise KeyError(tool_name)


def chat(user_message):
    messages = [{"role": "user", "content": user_message}]
    while True:
        response = client.messages.create(
            model="claude-sonnet-4-5", max_tokens=1024, tools=TOOLS, messages=messages
        )
        messages.append({"role": "assistant", "content": response.content})
        if response.stop_reason != "tool_use":
            return next(block.text for block in response.content if block.type == "text")
        results = []
        for block in response.content:
            if block.type != "tool_use":
                continue
            result = {"type": "tool_result", "tool_use_id": block.id}
            try:
                result["content"] = process_tool_call(block.name, block.input)
            except Exception as e:
                result |= {"content": str(e), "is_error": True}
            results.append(result)
        messages.append({"role": "user", "content": results})


print(chat("Why does add fail?"))
