"""A FastMCP server with the tools of a small shop, for a client that starts it over stdio."""

import asyncio

from fastmcp import FastMCP
from footprint import footprint

mcp = FastMCP("Shop")

STOCK = {"kettle": 12, "toaster": 0}


@mcp.tool
def count_stock(product: str) -> int:
    """Count how many of a product there are."""
    footprint("count_stock")
    return STOCK[product]


@mcp.tool
async def quote(product: str, pieces: int = 1) -> dict:
    """Name the price of some pieces of a product."""
    footprint("quote")
    await asyncio.sleep(0)
    return {"product": product, "pieces": pieces, "euros": 35 * pieces}


if __name__ == "__main__":
    mcp.run()
