"""Agents of Strands: tools by decorator, one of them async, and an answer that is printed as it comes."""

import asyncio

from footprint import footprint
from strands import Agent, ToolContext, tool
from strands.models.openai import OpenAIModel


@tool
def letter_counter(word: str, letter: str) -> int:
    """Count how often a letter stands in a word.

    Args:
        word (str): The word.
        letter (str): The letter.
    """
    footprint("letter_counter")
    return word.lower().count(letter.lower())


@tool(name="find_city", description="Find a city by its name.")
async def look_up(name: str) -> dict:
    """Find a city."""
    footprint("find_city")
    await asyncio.sleep(0)
    return {"status": "success", "content": [{"text": f"{name} lies at the sea, 4 km from here"}]}


@tool(context=True)
def take_note(text: str, tool_context: ToolContext) -> str:
    """Take a note.

    Args:
        text: What to note.
    """
    footprint("take_note")
    notes = tool_context.agent.state.get("notes") or []
    tool_context.agent.state.set("notes", [*notes, text])
    return f"noted as number {len(notes) + 1}"


agent = Agent(model=OpenAIModel(model_id="gpt-4.1-mini"), tools=[letter_counter, look_up, take_note])
result = agent("How many letters r are in strawberry, and where is Porto? Note both.")
print()
print(result.stop_reason, agent.state.get("notes"))


async def stream() -> None:
    quiet = Agent(model=OpenAIModel(model_id="gpt-4.1-mini"), tools=[look_up], callback_handler=None)
    async for event in quiet.stream_async("Where is Faro?"):
        if "data" in event:
            print(event["data"], end="", flush=True)
    print()


asyncio.run(stream())
