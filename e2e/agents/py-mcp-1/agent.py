"""PyPI mcp 1.x: the 2025-11-25 revision, with a session and a GET stream."""

import asyncio
import contextlib
import os
import sys

import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from scenarios import FORMS, ROOTS, run, sampled  # noqa: E402


def dumped(items):
    """As they were on the wire."""
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


async def on_elicit(context, params):
    return types.ElicitResult(action="accept", content=FORMS[params.message])


async def on_sample(context, params):
    content = types.TextContent(type="text", text=sampled(params.messages[0].content.text))
    return types.CreateMessageResult(role="assistant", model="none", content=content)


async def on_list_roots(context):
    return types.ListRootsResult(roots=[types.Root(**root) for root in ROOTS])


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

    def __init__(self, session, protocol_version, changes, updates):
        self._session = session
        self.protocol_version = protocol_version
        self._changes = changes
        self._updates = updates

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

    async def list_prompts(self):
        return dumped((await self._session.list_prompts()).prompts)

    async def get_prompt(self, name, arguments):
        return dumped((await self._session.get_prompt(name, arguments)).messages)

    async def list_resources(self):
        return dumped((await self._session.list_resources()).resources)

    async def list_templates(self):
        return dumped((await self._session.list_resource_templates()).resourceTemplates)

    async def read_resource(self, uri):
        return dumped((await self._session.read_resource(AnyUrl(uri))).contents)

    async def complete(self, ref, argument):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return (await self._session.complete(kind(**ref), argument)).completion.values

    @contextlib.asynccontextmanager
    async def updated(self, uri):
        await self._session.subscribe_resource(AnyUrl(uri))
        yield self._updates
        await self._session.unsubscribe_resource(AnyUrl(uri))


@contextlib.asynccontextmanager
async def connect(wire, url, token):
    changes, updates = asyncio.Queue(), asyncio.Queue()

    async def on_message(message):
        notification = getattr(message, "root", None)
        if isinstance(notification, types.ToolListChangedNotification):
            changes.put_nowait(message)
        if isinstance(notification, types.ResourceUpdatedNotification):
            updates.put_nowait(message)

    callbacks = {
        "elicitation_callback": on_elicit,
        "sampling_callback": on_sample,
        "list_roots_callback": on_list_roots,
        "message_handler": on_message,
    }

    http = httpx.AsyncClient(
        headers={"Authorization": f"Bearer {token}"}, event_hooks=wire.hooks, timeout=httpx.Timeout(30, read=300)
    )
    async with http, streamable_http_client(url, http_client=http) as (read, write, _):
        async with ClientSession(read, write, **callbacks) as session:
            hello = await session.initialize()
            yield Agent(session, hello.protocolVersion, changes, updates)


run("py-mcp-1", "2025-11-25", "legacy", connect)
