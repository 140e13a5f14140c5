"""PyPI mcp 1.x: the 2025-11-25 revision, with a session and a GET stream."""

import asyncio
import contextlib
import os
import sys

import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from scenarios import run  # noqa: E402


class Call:
    """A call that the application can take back."""

    def __init__(self, session, name, arguments):
        self._session = session
        # The id that the session gives to its next request; no public way tells it.
        self._request_id = session._request_id
        self._task = asyncio.create_task(session.call_tool(name, arguments))

    async def cancel(self):
        """Cancelling the task alone tells the server nothing in 1.x: the application sends the notification."""
        params = types.CancelledNotificationParams(requestId=self._request_id, reason="changed its mind")
        await self._session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        self._task.cancel()
        await asyncio.wait([self._task])


class Agent:
    """One session of the SDK, in the words of the scenarios."""

    def __init__(self, session, protocol_version, changes):
        self._session = session
        self.protocol_version = protocol_version
        self._changes = changes

    async def list_tools(self):
        tools = (await self._session.list_tools()).tools
        return [tool.model_dump(mode="json", include={"name", "description", "inputSchema"}) for tool in tools]

    async def call_tool(self, name, arguments, on_progress):
        result = await self._session.call_tool(name, arguments, progress_callback=on_progress)
        return {"isError": result.isError, "content": [item.model_dump(mode="json") for item in result.content]}

    def cancellable_call(self, name, arguments):
        return Call(self._session, name, arguments)

    @contextlib.asynccontextmanager
    async def tools_changed(self):
        yield self._changes


@contextlib.asynccontextmanager
async def connect(wire, url, token):
    changes = asyncio.Queue()

    async def on_message(message):
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            changes.put_nowait(message)

    http = httpx.AsyncClient(
        headers={"Authorization": f"Bearer {token}"}, event_hooks=wire.hooks, timeout=httpx.Timeout(30, read=300)
    )
    async with http, streamable_http_client(url, http_client=http) as (read, write, _):
        async with ClientSession(read, write, message_handler=on_message) as session:
            hello = await session.initialize()
            yield Agent(session, hello.protocolVersion, changes)


run("py-mcp-1", "2025-11-25", "legacy", connect)
