"""A till whose tools get what the graph has: its state, its store, the configuration, the runtime."""

import random
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

STATE = InjectedState()
MESSAGES = InjectedState("messages")
STORE = InjectedStore()


@tool
def pay(cents: int, state: Annotated[dict, STATE], messages: Annotated[list, MESSAGES]) -> str:
    """Pay."""
    return f"paid {cents} after {len(state['messages'])} {len(messages)}: {random.random()}"


@tool
def note(text: str, config: RunnableConfig, store: Annotated[Any, STORE]) -> str:
    """Take a note."""
    return (
        f"noted {text} for {config['configurable']['thread_id']} {store.get(('a',), 'b')} {random.random()}"
    )


@tool
def count(runtime: ToolRuntime) -> str:
    """Count what was said."""
    return f"{len(runtime.state['messages'])} messages, {random.random()}"


TOOLS = [pay, note, count]


def agent(state):
    return {"messages": [ChatOpenAI(model="gpt-4.1-mini").bind_tools(TOOLS).invoke(state["messages"])]}


def closing(state):
    return {"messages": [("user", f"closed: {interrupt('sure?')}")]}


def build():
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_node("closing", closing)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else "closing"
    )
    graph.add_edge("tools", "agent")
    graph.add_edge("closing", END)
    return graph.compile(checkpointer=InMemorySaver(), store=InMemoryStore())


def main():
    graph = build()
    thread = {"configurable": {"thread_id": "1"}}
    said = graph.invoke({"messages": [("user", "Sell one.")]}, thread)
    print(said["__interrupt__"][0].value)
    for message in graph.invoke(Command(resume="yes"), thread)["messages"]:
        print(message.type, message.content, getattr(message, "tool_calls", ""))


if __name__ == "__main__":
    main()
