"""A kernel of Semantic Kernel that switches lamps through a plugin, with functions chosen by the model."""

import asyncio
from typing import Annotated

from footprint import footprint
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion, OpenAIChatPromptExecutionSettings
from semantic_kernel.contents import ChatHistory
from semantic_kernel.functions import kernel_function


class LightsPlugin:
    def __init__(self):
        self.lights = [
            {"id": 1, "name": "Table Lamp", "is_on": False},
            {"id": 2, "name": "Porch light", "is_on": False},
            {"id": 3, "name": "Chandelier", "is_on": True},
        ]

    @kernel_function
    def get_lights(self) -> list[dict]:
        """Return the lights and whether they are on."""
        footprint("Lights-get_lights")
        return self.lights

    @kernel_function(name="change_state", description="Switch a light on or off.")
    async def switch(
        self,
        id: Annotated[int, "The number of the light"],
        is_on: Annotated[bool, "Whether it shall be on"],
    ) -> dict | None:
        footprint("Lights-change_state")
        for light in self.lights:
            if light["id"] == id:
                light["is_on"] = is_on
                return light
        return None


async def main():
    kernel = Kernel()
    chat = OpenAIChatCompletion(ai_model_id="gpt-4o")
    kernel.add_service(chat)
    kernel.add_plugin(LightsPlugin(), plugin_name="Lights")
    settings = OpenAIChatPromptExecutionSettings()
    settings.function_choice_behavior = FunctionChoiceBehavior.Auto()
    history = ChatHistory()
    for words in ("Please turn on the lamps on the table and the porch.", "Which lights are on?"):
        history.add_user_message(words)
        result = await chat.get_chat_message_content(chat_history=history, settings=settings, kernel=kernel)
        print("Assistant >", result)
        history.add_message(result)


asyncio.run(main())
