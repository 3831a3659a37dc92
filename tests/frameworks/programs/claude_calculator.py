"""Claude's Agent SDK: a client with tools of its own in an in-process server, which asks before other tools run."""

import asyncio
import os

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)
from footprint import footprint


@tool("add", "Add two numbers", {"a": float, "b": float})
async def add_numbers(args):
    footprint("add")
    print("adding", args["a"], args["b"])
    await asyncio.sleep(0.02)
    result = args["a"] + args["b"]
    return {"content": [{"type": "text", "text": f"{args['a']} + {args['b']} = {result}"}]}


@tool("divide", "Divide one number by another", {"a": float, "b": float})
async def divide_numbers(args):
    footprint("divide")
    if args["b"] == 0:
        return {
            "content": [{"type": "text", "text": "Error: Division by zero is not allowed"}],
            "is_error": True,
        }
    return {"content": [{"type": "text", "text": f"{args['a']} ÷ {args['b']} = {args['a'] / args['b']}"}]}


async def ask_before(name, given, _context):
    print("may", name, "run", given)
    if "rm" in str(given.get("command")):
        return PermissionResultDeny(message="That would delete something.")
    return PermissionResultAllow()


async def look_first(event, _tool_use_id, _context):
    print("before", event["tool_name"])
    return {}


def display(message):
    if isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, TextBlock):
                print(f"Claude: {block.text}")
            elif isinstance(block, ToolUseBlock):
                print(f"Using tool: {block.name}", block.input)
    elif isinstance(message, UserMessage):
        for block in message.content:
            if isinstance(block, ToolResultBlock):
                print("Result:", block.content, block.is_error)
    elif isinstance(message, ResultMessage):
        print("Result ended", message.num_turns, message.total_cost_usd, message.usage)


async def main():
    from claude_agent_sdk import HookMatcher

    calculator = create_sdk_mcp_server(name="calc", version="2.0.0", tools=[add_numbers, divide_numbers])
    options = ClaudeAgentOptions(
        cli_path=os.environ["CLAUDE_CLI"],
        mcp_servers={"calc": calculator},
        allowed_tools=["mcp__calc__add"],
        can_use_tool=ask_before,
        hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[look_first])]},
    )
    prompts = [
        "Calculate 15 + 27 and 1 + 1, and list what is here.",
        "Now divide 100 by 8, then by 0, and delete everything.",
    ]
    async with ClaudeSDKClient(options=options) as client:
        for prompt in prompts:
            print(f"Prompt: {prompt}")
            await client.query(prompt)
            async for message in client.receive_response():
                display(message)
        print(await client.get_context_usage())


if __name__ == "__main__":
    asyncio.run(main())
