"""FunctionAgent of LlamaIndex, in the shape of its first example: plain functions as tools, and events that stream."""

import asyncio

from footprint import footprint
from llama_index.core.agent.workflow import AgentStream, FunctionAgent, ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    footprint("multiply")
    return a * b


async def search_documents(query: str) -> str:
    """Answer natural language questions about an essay."""
    footprint("search_documents")
    await asyncio.sleep(0)
    return f"Nothing was written on {query}."


async def set_name(ctx: Context, name: str) -> str:
    """Keep the name of the user."""
    footprint("remember_name")
    await ctx.store.set("name", name)
    return f"The name is {name}."


agent = FunctionAgent(
    tools=[multiply, search_documents, FunctionTool.from_defaults(async_fn=set_name, name="remember_name")],
    llm=OpenAI(model="gpt-4.1-mini"),
    system_prompt="You are a helpful assistant that can multiply two numbers.",
)


async def main() -> None:
    context = Context(agent)
    print(await agent.run("What is 1234 times 4567, and who wrote of it?", ctx=context))
    handler = agent.run("My name is Ada. What is 3 times 4?", ctx=context)
    async for event in handler.stream_events():
        if isinstance(event, AgentStream):
            print(event.delta, end="", flush=True)
        elif isinstance(event, ToolCallResult):
            print(event.tool_name, event.tool_kwargs, event.tool_output.content)
    print()
    print(await context.store.get("name"))


asyncio.run(main())
