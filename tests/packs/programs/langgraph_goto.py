"""Triage by commands: nodes that say where to go next, a subgraph that leaves for its parent, and work that is sent out."""

import operator
import random
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from openai import OpenAI


class State(TypedDict):
    question: str
    path: Annotated[list[str], operator.add]
    reviews: Annotated[list[str], operator.add]


class Item(TypedDict):
    item: str


def ask(text):
    message = {"role": "user", "content": text}
    response = OpenAI().chat.completions.create(model="gpt-4.1-mini", messages=[message])
    return response.choices[0].message.content


def triage(state) -> Command:
    desk = random.choice(["billing", "shipping"])
    return Command(goto=desk, update={"path": [f"triage: {ask(state['question'])}"]})


def billing(state):
    return Command(goto=["audit"], update={"path": ["billing"]})


def shipping(state):
    return Command(goto="audit", update={"path": ["shipping"]})


def note(state):
    return Command(update={"path": ["noted"]})


def inner_pick(state):
    choice = random.choice(["fan", "late"])
    return Command(goto=choice, graph=Command.PARENT, update={"path": [f"audit to {choice}"]})


def late(state):
    return {"path": ["late"]}


def fan(state):
    return {"path": ["fan"]}


def spread(state):
    return [Send("review", {"item": f"{name}{random.randrange(100)}"}) for name in ("mug", "plate", "fork")]


def review(state):
    return {"reviews": [f"{state['item']}: {ask(state['item'])}"]}


def build():
    inner = StateGraph(State)
    inner.add_node("note", note)
    inner.add_node("pick", inner_pick)
    inner.add_edge(START, "note")
    inner.add_edge("note", "pick")
    graph = StateGraph(State)
    graph.add_node("triage", triage)
    graph.add_node("billing", billing)
    graph.add_node("shipping", shipping)
    graph.add_node("audit", inner.compile())
    graph.add_node("late", late)
    graph.add_node("fan", fan)
    graph.add_node("review", review)
    graph.add_edge(START, "triage")
    graph.add_edge("late", "fan")
    graph.add_conditional_edges("fan", spread, ["review"])
    graph.add_edge("review", END)
    return graph.compile()


def main():
    state = build().invoke({"question": "Where is my refund?", "path": [], "reviews": []})
    for step in state["path"] + state["reviews"]:
        print(step)


if __name__ == "__main__":
    main()
