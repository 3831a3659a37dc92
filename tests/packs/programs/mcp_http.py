"""An agent whose tools are a server's that is reached over HTTP."""

import asyncio
import os

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def run():
    async with (
        streamable_http_client(os.environ["MCP_URL"]) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        print(session.server_info.name)
        print([tool.name for tool in (await session.list_tools()).tools])
        both = await asyncio.gather(
            session.call_tool("weather", {"city": "Oslo"}), session.call_tool("weather", {"city": "Rome"})
        )
        for result in both:
            print(result.content[0].text)


if __name__ == "__main__":
    asyncio.run(run())
