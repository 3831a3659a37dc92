"""An agent whose tools are a server's in the same process, through the client that negotiates by itself."""

import asyncio

from mcp import Client
from mcp_server import server


async def run():
    async with Client(server) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        for city in ("Oslo", "Rome"):
            print((await client.call_tool("weather", {"city": city})).content[0].text)
        print((await client.call_tool("lost", {"city": "Atlantis"})).is_error)


if __name__ == "__main__":
    asyncio.run(run())
