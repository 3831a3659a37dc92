"""An agent of the Microsoft Agent Framework that streams, on chat completions, with a session and a tool that is a method."""

import asyncio
from typing import Annotated

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from footprint import footprint


class Library:
    def __init__(self):
        self.lent = {"Emma": 2}

    def lend(self, title: Annotated[str, "The title"], copies: Annotated[int, "How many"] = 1) -> str:
        """Lend copies of a book."""
        footprint("lend")
        self.lent[title] = self.lent.get(title, 0) + copies
        return f"{copies} of {title} lent, {self.lent[title]} in all"


@tool(name="look_up", description="Look a book up in the catalogue.")
def find_book(title: Annotated[str, "The title"]) -> dict:
    footprint("look_up")
    return {"title": title, "shelf": "C 14", "copies": 5}


async def main():
    library = Library()
    agent = Agent(
        client=OpenAIChatCompletionClient(model="gpt-4o"),
        instructions="You run a library.",
        tools=[library.lend, find_book],
    )
    session = agent.create_session()
    for question in ("Where is Emma? Lend me one.", "And lend two copies of Ulysses."):
        async for update in agent.run(question, session=session, stream=True):
            if update.text:
                print(update.text, end="|", flush=True)
        print()
    print(library.lent)


asyncio.run(main())
