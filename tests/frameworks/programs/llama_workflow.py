"""AgentWorkflow of LlamaIndex: two agents, of which one hands the work over to the other."""

import asyncio

from footprint import footprint
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI


async def search_web(query: str) -> str:
    """Search the web for a topic."""
    footprint("search_web")
    return f"{query}: it was proposed in 1989."


def write_report(title: str, content: str) -> str:
    """Write a report."""
    footprint("write_report")
    return f"# {title} ({len(content)} characters)"


llm = OpenAI(model="gpt-4.1-mini")
researcher = FunctionAgent(
    name="Researcher",
    description="Searches the web.",
    system_prompt="You are a researcher. Hand over to the writer when you have notes.",
    llm=llm,
    tools=[search_web],
    can_handoff_to=["Writer"],
)
writer = FunctionAgent(
    name="Writer",
    description="Writes a report on a topic.",
    system_prompt="You write reports.",
    llm=llm,
    tools=[write_report],
)
workflow = AgentWorkflow(agents=[researcher, writer], root_agent="Researcher")


async def main() -> None:
    print(await workflow.run(user_msg="Write a report on the history of the web."))


asyncio.run(main())
