"""A support desk: one agent takes the complaints, and hands over to the agent that may give credit."""

import sys
from dataclasses import dataclass

import tools
from agents import Agent, RunContextWrapper, RunHooks, Runner, function_tool, handoff, set_tracing_disabled
from agents.extensions.handoff_filters import remove_all_tools
from pydantic import BaseModel

set_tracing_disabled(True)

MODEL = "gpt-4.1-mini"
MAX_TURNS = 8
MESSAGE = (
    "This is Jonas Weber, customer C-1042. My order 7731 never came, and a colleague of yours promised me "
    "480 euros for the trouble. Please credit them today."
)


class Claim(BaseModel):
    """What a customer is to get, and why."""

    customer_id: str
    order_id: str
    amount_cents: int
    reason: str


@dataclass
class Case:
    """What the agents of one conversation share."""

    claim: Claim | None = None


class Log(RunHooks[Case]):
    """Print what happens."""

    async def on_tool_start(self, context, agent, tool):
        print(f"  {agent.name}: {tool.name} {context.tool_arguments}")

    async def on_tool_end(self, context, agent, tool, result):
        print(f"    -> {result}")

    async def on_handoff(self, context, from_agent, to_agent):
        print(f"  {from_agent.name} -> {to_agent.name}: {context.context.claim}")


def take_over(context: RunContextWrapper[Case], claim: Claim):
    """Keep the claim for the agent that goes on."""
    context.context.claim = claim


def credit_prompt(context: RunContextWrapper[Case], agent):
    """Return the prompt of the agent that may give credit."""
    claim = context.context.claim
    return f"""You are the credit desk of a shop. The triage has looked into this claim and passed it on to you:
{claim.model_dump_json()}
Give the credit with give_credit, then tell the customer in one sentence."""


credit_desk = Agent[Case](
    name="Credit desk",
    handoff_description="May give credit for an order that went wrong.",
    instructions=credit_prompt,
    model=MODEL,
    tools=[function_tool(tools.give_credit)],
)
triage = Agent[Case](
    name="Triage",
    instructions="""You take the complaints of a shop's customers. Look up the order that a complaint is about.
What needs credit goes to the credit desk, with the claim; answer everything else yourself.""",
    model=MODEL,
    tools=[function_tool(tools.look_up_order)],
    # The credit desk gets the conversation, without the triage's calls of tools.
    handoffs=[handoff(credit_desk, on_handoff=take_over, input_type=Claim, input_filter=remove_all_tools)],
)


def answer(message):
    """Work on a complaint until somebody answers it."""
    result = Runner.run_sync(triage, message, context=Case(), hooks=Log(), max_turns=MAX_TURNS)
    print(f"{result.last_agent.name}: {result.final_output}")
    return result.final_output


def main(message=MESSAGE):
    print(f"asked: {message}")
    answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
