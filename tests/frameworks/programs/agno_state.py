"""A shopping list that an agent of agno keeps in the state of its session."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.run import RunContext
from footprint import footprint


def add_item(run_context: RunContext, item: str) -> str:
    """Add an item to the shopping list."""
    footprint("add_item")
    run_context.session_state["shopping_list"].append(item)
    return f"The shopping list is now {run_context.session_state['shopping_list']}"


def list_items(run_context: RunContext) -> str:
    """List what is on the shopping list."""
    footprint("list_items")
    items = run_context.session_state["shopping_list"]
    return f"{len(items)} items: {', '.join(items)}"


agent = Agent(
    model=OpenAIChat(id="gpt-4.1-mini"),
    session_state={"shopping_list": []},
    tools=[add_item, list_items],
    instructions="The shopping list is {shopping_list}",
)
response = agent.run("Add milk and bread, and list what I need")
print(response.content)
print(response.session_state["shopping_list"])
