"""A storage agent: it finds what nobody needs any more, and deletes it."""

import json
import sys

import tools
from agents import (
    Agent,
    MessageOutputItem,
    RunConfig,
    Runner,
    ToolCallItem,
    ToolCallOutputItem,
    ToolGuardrailFunctionOutput,
    function_tool,
    tool_input_guardrail,
)

MESSAGE = "Staging is full again. Please delete the ledger of 2025 there, it was only for the load test."
PROMPT = """You keep the storage of a company tidy. List what is there before you delete anything.
Delete with delete_object, then say in one sentence what was deleted."""


@tool_input_guardrail
def keep_production(data):
    """Refuse to delete in production, or in a bucket that is not known, before the tool is called."""
    arguments = json.loads(data.context.tool_arguments)
    bucket, key = arguments.get("bucket"), arguments.get("key")
    known = isinstance(bucket, str) and bucket in tools.BUCKETS and isinstance(key, str) and key != ""
    if not known or tools.BUCKETS[bucket]["environment"] == "production":
        return ToolGuardrailFunctionOutput.reject_content(f"blocked: nothing is deleted in {bucket}")
    return ToolGuardrailFunctionOutput.allow()


janitor = Agent(
    name="Janitor",
    model="gpt-4.1-mini",
    instructions=PROMPT,
    tools=[
        function_tool(tools.list_objects),
        function_tool(tools.delete_object, tool_input_guardrails=[keep_production]),
    ],
)


def show(item):
    """Print what was said, asked for or given."""
    if isinstance(item, MessageOutputItem):
        print(f"agent: {''.join(part.text for part in item.raw_item.content)}")
    elif isinstance(item, ToolCallItem):
        print(f"  {item.raw_item.name} {item.raw_item.arguments}")
    elif isinstance(item, ToolCallOutputItem):
        print(f"    -> {item.output}")


def answer(message):
    """Work on what somebody asks for; give the last thing that the model said."""
    config = RunConfig(tracing_disabled=True)
    result = Runner.run_sync(janitor, message, max_turns=6, run_config=config)
    for item in result.new_items:
        show(item)
    return result.final_output


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
