"""LangChain without a graph: a chain that is streamed, tools of every make, on OpenAI and Anthropic."""

import asyncio
import random

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import BaseTool, StructuredTool, Tool, ToolException, tool
from langchain_openai import ChatOpenAI


@tool
def quote(item: str, count: int = 1) -> dict:
    """Price an item."""
    return {"item": item, "cents": count * random.randrange(100, 9900)}


@tool(response_format="content_and_artifact")
def picture(item: str) -> tuple[str, bytes]:
    """Draw an item."""
    return f"a picture of {item}", random.randbytes(4)


@tool
async def stock(item: str) -> int:
    """Count an item."""
    return random.randrange(1000)


def reverse(text: str) -> str:
    return text[::-1] + str(random.randrange(10))


async def reverse_async(text: str) -> str:
    return reverse(text)


def fails(item: str) -> str:
    """Never works."""
    raise ToolException(f"no {item} {random.randrange(10**6)}")


class Till(BaseTool):
    name: str = "till"
    description: str = "Take money."
    balance: int = 0

    def _run(self, cents: int) -> int:
        self.balance += cents + random.randrange(10)
        return self.balance


REVERSE = Tool("reverse", reverse, "Turn a text around.", coroutine=reverse_async)
TILL = Till()
FAILS = StructuredTool.from_function(fails, handle_tool_error=True)


def sync():
    prompt = ChatPromptTemplate.from_template("A sentence on {topic}.")
    chain = prompt | ChatOpenAI(model="gpt-4.1-mini") | StrOutputParser()
    print("|".join(chain.stream({"topic": "mugs"})))
    model = ChatAnthropic(model="claude-sonnet-4-5", max_tokens=200).bind_tools([quote], tool_choice="quote")
    reply = model.invoke([HumanMessage("What is a mug?")])
    print(reply.content, reply.usage_metadata)
    for call in reply.tool_calls:
        print(quote.invoke(call).content)
    for chunk in ChatAnthropic(model="claude-sonnet-4-5", max_tokens=200).stream("A story."):
        print(repr(chunk.content), end=" ")
    print()
    print(
        picture.invoke({"type": "tool_call", "id": "1", "name": "picture", "args": {"item": "mug"}}).artifact
    )
    print(REVERSE.invoke("mug"), FAILS.invoke({"item": "mug"}))
    print(TILL.invoke({"cents": 100}), TILL.invoke({"cents": 20}), TILL.balance)


async def meanwhile():
    print(await asyncio.gather(stock.ainvoke({"item": "mug"}), stock.ainvoke({"item": "fork"})))
    print(await quote.ainvoke({"item": "fork", "count": 2}), await REVERSE.ainvoke("fork"))
    print(await TILL.ainvoke({"cents": 5}), TILL.balance)
    async for chunk in ChatOpenAI(model="gpt-4.1-mini").astream("A story."):
        print(repr(chunk.content), end=" ")
    print()


def main():
    sync()
    asyncio.run(meanwhile())


if __name__ == "__main__":
    main()
