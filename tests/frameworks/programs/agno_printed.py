"""An agent of agno in the shape of its first example: a toolkit, and an answer that is printed in a box while it streams."""

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools import Toolkit
from footprint import footprint


class StockTools(Toolkit):
    """Prices and names of shares."""

    def __init__(self) -> None:
        super().__init__(name="stock_tools", tools=[self.get_price, self.get_company])

    def get_price(self, symbol: str) -> str:
        """Get the current price of a share.

        Args:
            symbol (str): The symbol of the share.
        """
        footprint("get_price")
        return f"{symbol} costs 182.40 dollars."

    def get_company(self, symbol: str) -> str:
        """Get the name of the company.

        Args:
            symbol (str): The symbol of the share.
        """
        footprint("get_company")
        return f"{symbol} stands for Acme Corporation."


agent = Agent(
    model=OpenAIChat(id="gpt-4.1-mini"),
    tools=[StockTools()],
    instructions=["Use tables to display data"],
    markdown=True,
)
agent.print_response("What does ACME cost, and who is it?", stream=True)
