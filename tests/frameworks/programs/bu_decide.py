"""What browser-use asks models for, without a browser: a text, and decisions in the form of a model of pydantic."""

import asyncio

from browser_use.llm import ChatOpenAI, SystemMessage, UserMessage
from pydantic import BaseModel, Field


class Click(BaseModel):
    index: int = Field(description="The number of the element")
    reason: str


class Decision(BaseModel):
    thinking: str
    clicks: list[Click]
    is_done: bool


PAGES = ("[1] Sign in [2] Buy a kettle [3] Imprint", "[1] Pay [2] Back to the shop")


async def main():
    model = ChatOpenAI(model="gpt-4o")
    plan = await model.ainvoke([UserMessage(content="How is a kettle bought?")])
    print(plan.completion)
    questions = [
        [
            SystemMessage(content="Decide what to click."),
            UserMessage(content=f"Buy a kettle. The page: {page}"),
        ]
        for page in PAGES
    ]
    for decided in await asyncio.gather(*(model.ainvoke(each, output_format=Decision) for each in questions)):
        print(repr(decided.completion), decided.usage.total_tokens > 0)


asyncio.run(main())
