"""An agent of Semantic Kernel with another agent as its plugin, which has a plugin of its own."""

import asyncio
from typing import Annotated

from footprint import footprint
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Bills:
    @kernel_function(description="Look a bill up.")
    def look_up(self, number: Annotated[int, "The number of the bill"]) -> str:
        footprint("Bills-look_up")
        return f"Bill {number}: 7 euros"


async def main():
    billing = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id="gpt-4o"),
        name="BillingAgent",
        instructions="You know about bills.",
        plugins=[Bills()],
    )
    triage = ChatCompletionAgent(
        service=OpenAIChatCompletion(ai_model_id="gpt-4o"),
        name="TriageAgent",
        instructions="Ask BillingAgent-BillingAgent about bills, and answer in one sentence.",
        plugins=[billing],
    )
    response = await triage.get_response(messages="What about bill 12?")
    print(f"# {response.name}: {response}")


asyncio.run(main())
