"""A deal assistant: a graph of a model and its tools, which finds people and writes to them."""

import json
import sys

import tools
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

MODEL = "gpt-4.1-mini"
MESSAGE = "Please tell the Aurora team that the offer is 41 a share and goes out on Thursday."
PROMPT = """You are the assistant of a team that buys companies. What it works on is confidential.
Find out who is on the team, write to them with send_email, and say in one sentence what was sent."""

TOOLS = [tools.search_people, tools.send_email]


def assistant(state):
    """Ask the model what to do next."""
    model = ChatOpenAI(model=MODEL).bind_tools(TOOLS)
    return {"messages": [model.invoke([SystemMessage(PROMPT), *state["messages"]])]}


def on_the_deal(arguments):
    """Return whether a mail about a deal has recipients and goes to its insiders only."""
    deal, recipients = arguments.get("deal"), arguments.get("recipients")
    if not isinstance(deal, str) or deal not in tools.DEALS or not isinstance(recipients, list):
        return False
    return recipients != [] and all(each in tools.DEALS[deal]["insiders"] for each in recipients)


def guard(request, use_tool):
    """Refuse a mail to outsiders before the tool is called."""
    call = request.tool_call
    if call["name"] == "send_email" and not on_the_deal(call["args"]):
        text = json.dumps({"status": "blocked", "reason": "not all of them are on the deal"})
        return ToolMessage(text, name=call["name"], tool_call_id=call["id"])
    return use_tool(request)


def build():
    """Make the graph."""
    graph = StateGraph(MessagesState)
    graph.add_node("assistant", assistant)
    graph.add_node("tools", ToolNode(TOOLS, wrap_tool_call=guard))
    graph.add_edge(START, "assistant")
    graph.add_conditional_edges("assistant", tools_condition)
    graph.add_edge("tools", "assistant")
    return graph.compile()


def show(message):
    """Print what was said, asked for or given."""
    if not isinstance(message, AIMessage):
        print(f"    -> {message.content}")
        return
    if message.content:
        print(f"agent: {message.content}")
    for call in message.tool_calls:
        print(f"  {call['name']} {json.dumps(call['args'])}")


def answer(message):
    """Work on what somebody asks for; give the last thing that the model said."""
    said = ""
    asked = {"messages": [HumanMessage(message)]}
    for step in build().stream(asked, {"recursion_limit": 12}, stream_mode="updates"):
        for update in step.values():
            for each in update["messages"]:
                show(each)
                said = each.content
    return said


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
