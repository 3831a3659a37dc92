"""The same desk in asyncio: asynchronous nodes, tools and routes, streamed as it goes."""

import asyncio
import random
from typing import Annotated, TypedDict

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import StructuredTool, tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import Command


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
async def weather(city: str) -> str:
    """Return the weather."""
    await asyncio.sleep(random.random() / 1000)
    return f"{random.randrange(40)} degrees in {city}"


@tool
def hotel(city: str, nights: int) -> dict:
    """Find a hotel."""
    return {"city": city, "price": nights * random.randrange(50, 300)}


def sync_train(city: str) -> str:
    """Find a train."""
    return f"train {random.randrange(1000)} to {city}"


async def train(city: str) -> str:
    return sync_train(city)


TOOLS = [weather, hotel, StructuredTool.from_function(sync_train, train, name="train")]


async def agent(state):
    choice = "required" if len(state["messages"]) < 5 else "none"
    model = ChatOpenAI(model="gpt-4.1-mini").bind_tools(TOOLS, tool_choice=choice)
    return {"messages": [await model.ainvoke(state["messages"])]}


async def next_step(state):
    return "tools" if state["messages"][-1].tool_calls else "close"


async def close(state):
    return Command(goto=random.choice(["thanks", "goodbye"]))


async def thanks(state):
    return {"messages": [HumanMessage("Thanks.")]}


async def goodbye(state):
    return {"messages": [HumanMessage("Goodbye.")]}


def build():
    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_node("close", close)
    graph.add_node("thanks", thanks)
    graph.add_node("goodbye", goodbye)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", next_step, ["tools", "close"])
    graph.add_edge("tools", "agent")
    graph.add_edge("thanks", END)
    graph.add_edge("goodbye", END)
    return graph.compile()


async def run():
    graph = build()
    question = {"messages": [HumanMessage("A trip to Berne, please.")]}
    async for mode, part in graph.astream(question, stream_mode=["updates", "messages"]):
        if mode == "messages":
            chunk, about = part
            print(about["langgraph_node"], repr(chunk.content))
        else:
            for node, update in part.items():
                print(
                    node, [(message.type, message.content) for message in (update or {}).get("messages", [])]
                )


def main():
    asyncio.run(run())


if __name__ == "__main__":
    main()
