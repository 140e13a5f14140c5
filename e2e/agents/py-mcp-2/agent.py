"""PyPI mcp 2.x in the mode named by the first argument: `auto` (asks server/discover first),
`2026-07-28` (pinned) or `legacy` (initialize, a session)."""

import asyncio
import contextlib
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation, ToolListChangedNotification

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from scenarios import run  # noqa: E402

MODE = sys.argv[1]
ERA = "legacy" if MODE == "legacy" else "modern"


class Call:
    """A call that the application can take back: the SDK tells the server when its task is cancelled."""

    def __init__(self, client, name, arguments):
        self._task = asyncio.create_task(client.call_tool(name, arguments))

    async def cancel(self):
        self._task.cancel()
        await asyncio.wait([self._task])


class Agent:
    """One client of the SDK, in the words of the scenarios."""

    def __init__(self, client, changes):
        self._client = client
        self.protocol_version = client.protocol_version
        self._changes = changes

    async def list_tools(self):
        tools = (await self._client.list_tools()).tools
        return [
            tool.model_dump(mode="json", by_alias=True, include={"name", "description", "input_schema"})
            for tool in tools
        ]

    async def call_tool(self, name, arguments, on_progress):
        result = await self._client.call_tool(name, arguments, progress_callback=on_progress)
        content = [item.model_dump(mode="json", by_alias=True) for item in result.content]
        return {"isError": bool(result.is_error), "content": content}

    def cancellable_call(self, name, arguments):
        return Call(self._client, name, arguments)

    @contextlib.asynccontextmanager
    async def tools_changed(self):
        if ERA == "legacy":
            yield self._changes
            return
        async with self._client.listen(tools_list_changed=True) as subscription:
            assert subscription.honored.tools_list_changed is True, "the filter was not honoured"

            async def pump():
                async for event in subscription:
                    self._changes.put_nowait(event)

            pumping = asyncio.create_task(pump())
            try:
                yield self._changes
            finally:
                pumping.cancel()
                await asyncio.wait([pumping])


@contextlib.asynccontextmanager
async def connect(wire, url, token):
    changes = asyncio.Queue()

    async def on_message(message):
        if ERA == "legacy" and isinstance(message, ToolListChangedNotification):
            changes.put_nowait(message)

    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {token}"}, event_hooks=wire.hooks, timeout=httpx2.Timeout(30, read=300)
    )
    async with http:
        transport = streamable_http_client(url, http_client=http)
        info = Implementation(name="e2e-py-mcp-2", version="1.0.0")
        async with Client(transport, mode=MODE, message_handler=on_message, client_info=info) as client:
            yield Agent(client, changes)


run("py-mcp-2", MODE, ERA, connect)
