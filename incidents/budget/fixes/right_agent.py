"""A research agent as a graph: it searches until the model knows enough, then answers."""

import json
import sys

import tools
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import ToolNode

MODEL = "gpt-4.1-mini"
MAX_STEPS = 25
STEPS_OF_A_SEARCH = 4
MESSAGE = "Which European maker can deliver 20,000 cells 21700 a month from March on, and at what price?"
PROMPT = """You are a research agent. Search until you know enough, one search at a time. Then answer in one or two
sentences, and say what you don't know."""
TOOLS = [tools.search]


class State(MessagesState):
    """What was said, and how many steps the graph may still take."""

    remaining_steps: RemainingSteps


def think(state):
    """Let the model search, or answer."""
    model = ChatOpenAI(model=MODEL).bind_tools(TOOLS, parallel_tool_calls=False)
    reply = model.invoke([("system", PROMPT), *state["messages"]])
    for call in reply.tool_calls:
        print(f"  {call['name']} {json.dumps(call['args'])}")
    return {"messages": [reply]}


def conclude(state):
    """Let the model answer from what was found so far."""
    told = "There will be no more searches. Answer from what you have found."
    reply = ChatOpenAI(model=MODEL).invoke([("system", PROMPT), *state["messages"], ("user", told)])
    return {"messages": [reply]}


def objection(calls):
    """Why these searches may not be made; None if they may."""
    queries = [call["args"].get("query") for call in calls]
    if not all(isinstance(query, str) and query.strip() for query in queries):
        return "there is no query"
    if sum(tools.charged) + len(calls) * tools.PRICE_CENTS > tools.BUDGET_CENTS:
        return "the budget is spent"
    return None


def refuse(state):
    """Say to the model why its searches are not made."""
    calls = state["messages"][-1].tool_calls
    content = json.dumps({"status": "blocked", "why": objection(calls)})
    print(f"    -> {content}")
    told = [ToolMessage(content, tool_call_id=call["id"], name=call["name"]) for call in calls]
    return {"messages": told}


def after_thinking(state):
    """Search if the model wants to and the budget pays for it."""
    calls = state["messages"][-1].tool_calls
    if not calls:
        return END
    return "refuse" if objection(calls) else "search"


def after_searching(state):
    """Think on as long as searching leads to something and there are steps left for another search."""
    found = state["messages"][-1].content
    print(f"    -> {found}")
    if json.loads(found)["status"] != "found" or state["remaining_steps"] < STEPS_OF_A_SEARCH:
        return "conclude"
    return "think"


def build():
    graph = StateGraph(State)
    graph.add_node("think", think)
    graph.add_node("search", ToolNode(TOOLS, handle_tool_errors=False))
    graph.add_node("refuse", refuse)
    graph.add_node("conclude", conclude)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", after_thinking, ["search", "refuse", END])
    graph.add_conditional_edges("search", after_searching, ["think", "conclude"])
    graph.add_edge("refuse", "conclude")
    graph.add_edge("conclude", END)
    return graph.compile()


GRAPH = build()


def answer(message):
    """Research a question; give the answer."""
    state = GRAPH.invoke({"messages": [("user", message)]}, {"recursion_limit": MAX_STEPS})
    return state["messages"][-1].content


def main(message=MESSAGE):
    print(f"asked: {message}")
    print(f"agent: {answer(message)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
