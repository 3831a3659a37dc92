"""A support desk as a graph: an agent with tools, a conditional edge after it, and a route by chance."""

import random
from typing import Annotated, TypedDict

from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    desk: str


@tool
def look_up_order(order_id: str) -> dict:
    """Look up an order."""
    return {"order_id": order_id, "cents": random.randrange(100, 99900)}


@tool
def issue_refund(order_id: str, cents: int) -> str:
    """Refund an order."""
    return f"refunded {cents} of {order_id}: {random.randrange(10**6)}"


TOOLS = [look_up_order, issue_refund]


def agent(state):
    choice = "required" if len(state["messages"]) < 5 else "none"
    model = ChatOpenAI(model="gpt-4.1-mini", temperature=0).bind_tools(TOOLS, tool_choice=choice)
    return {"messages": [model.invoke(state["messages"])]}


def next_step(state):
    return "tools" if state["messages"][-1].tool_calls else "desk"


def any_desk(state):
    return random.choice(["north", "south", "west"])


def desk(name):
    return lambda state: {"desk": name}


def build():
    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_node("desk", lambda state: {})
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", next_step, ["tools", "desk"])
    graph.add_edge("tools", "agent")
    graph.add_conditional_edges("desk", any_desk)
    for name in ("north", "south", "west"):
        graph.add_node(name, desk(name))
        graph.add_edge(name, END)
    return graph.compile()


GRAPH = build()


def main():
    for chunk, about in GRAPH.stream(
        {"messages": [HumanMessage("Where is order 77?")]}, stream_mode="messages"
    ):
        print(about["langgraph_node"], repr(chunk.content), end="; ")
    print()
    state = GRAPH.invoke({"messages": [HumanMessage("Where is order 1234?")]})
    for message in state["messages"]:
        print(message.type, message.content, getattr(message, "tool_calls", ""))
    print("desk:", state["desk"])
    return [state["desk"]]


if __name__ == "__main__":
    main()
