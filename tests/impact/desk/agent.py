"""A support desk with what agents ask of the world every day: some of it comes to the model, to a tool or to the answer.

Each such line says whether it matters: whether another value changes what a boundary is given, what is said, or how it ends.
"""

import os
import platform
import random
import secrets
import socket
import sys
import time
import uuid
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode

ARTICLES = Path(__file__).parent / "articles"
TOPICS = {"refunds", "shipping", "billing", "accounts", "returns"}
REGION = os.environ.get("DESK_REGION", "eu-west")  # harmful
VERBOSE = os.environ.get("DESK_VERBOSE", "")  # harmless
ORDERS = {"77": 1250, "1234": 9900}
SEEN = {}


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    ticket: str
    priority: int


def log(*what):
    print(*what, file=sys.stderr)


@tool
def look_up_order(order_id: str) -> dict:
    """Look up an order."""
    return {"order_id": order_id, "cents": ORDERS.get(order_id, 0), "at": time.time()}


@tool
def issue_refund(order_id: str, cents: int) -> str:
    """Refund an order."""
    return f"refunded {cents} of {order_id} as {uuid.uuid4()}"


TOOLS = [look_up_order, issue_refund]


def intake(state):
    """Open a ticket."""
    ticket = f"T-{uuid.uuid4().hex[:8]}"  # harmful
    log(uuid.uuid1(), "opened by", os.getpid())  # harmless
    log("on", socket.gethostname())  # harmless
    SEEN[secrets.token_hex(4)] = ticket  # harmless
    return {"ticket": ticket, "priority": 0}


def instructions(state):
    """Write what the model is told of itself."""
    topics = ", ".join(TOPICS)  # harmful
    articles = ", ".join(each for each in os.listdir(ARTICLES))  # harmful
    log(len(os.listdir(ARTICLES)), "articles")  # harmless
    return SystemMessage(
        f"You are the desk of {REGION} for {topics}. Today is {date.today()}.\n"  # harmful
        f"Articles: {articles}. This is ticket {state['ticket']}."
    )


def assistant(state):
    """Ask the model."""
    choice = "required" if len(state["messages"]) < 5 else "none"
    model = ChatOpenAI(
        model="gpt-4.1-mini",
        temperature=0,
        model_kwargs={"user": platform.node()},  # harmful
    ).bind_tools(TOOLS, tool_choice=choice)
    time.sleep(random.uniform(0.0, 0.002))  # harmless
    began = datetime.now(UTC)  # harmless
    reply = model.invoke([instructions(state), *state["messages"]])
    log("asked at", began.isoformat(), "for", len(state["messages"]))
    return {"messages": [reply]}


def next_step(state):
    return "tools" if state["messages"][-1].tool_calls else "closing"


def closing(state):
    """Sign the answer, and have some of them looked at."""
    if random.random() < 0.5:  # harmless
        log("sampled")
    return {"messages": [HumanMessage(random.choice(["Bye.", "Thanks!", "So long."]))]}  # harmful


def build():
    graph = StateGraph(State)
    graph.add_node("intake", intake)
    graph.add_node("assistant", assistant)
    graph.add_node("tools", ToolNode(TOOLS))
    graph.add_node("closing", closing)
    graph.add_edge(START, "intake")
    graph.add_edge("intake", "assistant")
    graph.add_conditional_edges("assistant", next_step, ["tools", "closing"])
    graph.add_edge("tools", "assistant")
    graph.add_edge("closing", END)
    return graph.compile(checkpointer=InMemorySaver())


def main():
    thread = {"configurable": {"thread_id": f"desk-{time.time_ns()}"}}  # harmless
    question = HumanMessage("Where is order 77?")
    state = build().invoke({"messages": [question]}, thread)
    if time.localtime().tm_year < 1990:  # harmless
        log("the clock is off")
    for message in state["messages"]:
        print(message.type, message.content, getattr(message, "tool_calls", ""))
    print("closed", datetime.now().strftime("%H:%M:%S.%f"))  # harmful


if __name__ == "__main__":
    main()
