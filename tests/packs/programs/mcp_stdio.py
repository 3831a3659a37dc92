"""An agent whose tools are a server's: a process of its own, that is spoken to over standard input and output."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError


async def run():
    server = StdioServerParameters(command=sys.executable, args=["mcp_server.py"], cwd=".")
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        begun = await session.initialize()
        print(begun.server_info.name, session.protocol_version)
        listed = await session.list_tools()
        print(sorted(tool.name for tool in listed.tools), type(listed).__name__)
        for city in ("Oslo", "Rome"):
            result = await session.call_tool("weather", {"city": city})
            print(type(result).__name__, result.is_error, result.content)
        failed = await session.call_tool("lost", {"city": "Atlantis"})
        print(failed.is_error, failed.content)
        try:
            await session.read_resource("weather://nowhere")
        except MCPError as error:
            print(type(error).__name__, error.error.code, error)


if __name__ == "__main__":
    asyncio.run(run())
