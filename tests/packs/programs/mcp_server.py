"""A server of tools, over standard input and output or over HTTP."""

import random
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("weather")


@server.tool()
def weather(city: str) -> str:
    """Return the weather of a city."""
    with Path("asked.txt").open("a", encoding="utf-8") as asked:
        asked.write(f"{city}\n")
    return f"{random.randrange(30)} degrees in {city}"


@server.tool()
def lost(city: str) -> str:
    """Fail."""
    raise ValueError(f"no such place: {city}")


if __name__ == "__main__":
    with Path("asked.txt").open("a", encoding="utf-8") as started:
        started.write("started\n")
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
