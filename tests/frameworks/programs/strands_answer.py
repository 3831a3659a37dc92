"""An answer of Strands with a type: the agent may call tools first, and then fills in a model of pydantic."""

from footprint import footprint
from pydantic import BaseModel, Field
from strands import Agent, tool
from strands.models.openai import OpenAIModel


class City(BaseModel):
    """A city."""

    name: str
    kilometres: int = Field(description="How far it is.")


@tool
def distance(name: str) -> str:
    """Return how far a city is.

    Args:
        name: The city.
    """
    footprint("distance")
    return f"{name} is 4 km from here"


agent = Agent(model=OpenAIModel(model_id="gpt-4.1-mini"), tools=[distance], callback_handler=None)
result = agent("How far is Faro?", structured_output_model=City)
city: City = result.structured_output
print(f"{city.name}: {city.kilometres} km")
