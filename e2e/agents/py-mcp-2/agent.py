"""PyPI mcp 2.x in the mode named by the first argument: `auto` (asks server/discover first),
`2026-07-28` (pinned) or `legacy` (initialize, a session)."""

import asyncio
import contextlib
import os
import sys
import warnings

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    CreateMessageResult,
    ElicitResult,
    Implementation,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    Root,
    TextContent,
    ToolListChangedNotification,
)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from scenarios import FORMS, ROOTS, run, sampled  # noqa: E402

warnings.filterwarnings("ignore", message="resources/.*subscribe is removed")

MODE = sys.argv[1]
ERA = "legacy" if MODE == "legacy" else "modern"


def dumped(items):
    """As they were on the wire."""
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


async def on_elicit(context, params):
    return ElicitResult(action="accept", content=FORMS[params.message])


async def on_sample(context, params):
    content = params.messages[0].content
    text = (content[0] if isinstance(content, list) else content).text
    answer = TextContent(type="text", text=sampled(text))
    return CreateMessageResult(role="assistant", model="none", content=answer)


async def on_list_roots(context):
    return ListRootsResult(roots=[Root(**root) for root in ROOTS])


class Call:
    """A call that the application can take back: the SDK tells the server when its task is cancelled."""

    def __init__(self, client, name, arguments):
        self._task = asyncio.create_task(client.call_tool(name, arguments))

    async def cancel(self):
        self._task.cancel()
        await asyncio.wait([self._task])


class Agent:
    """One client of the SDK, in the words of the scenarios."""

    def __init__(self, client, changes, updates):
        self._client = client
        self.protocol_version = client.protocol_version
        self._changes = changes
        self._updates = updates

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
            async with pumped(subscription, self._changes):
                yield self._changes

    async def list_prompts(self):
        return dumped((await self._client.list_prompts()).prompts)

    async def get_prompt(self, name, arguments):
        return dumped((await self._client.get_prompt(name, arguments)).messages)

    async def list_resources(self):
        return dumped((await self._client.list_resources()).resources)

    async def list_templates(self):
        return dumped((await self._client.list_resource_templates()).resource_templates)

    async def read_resource(self, uri):
        return dumped((await self._client.read_resource(uri)).contents)

    async def complete(self, ref, argument):
        kind = PromptReference if ref["type"] == "ref/prompt" else ResourceTemplateReference
        return (await self._client.complete(kind(**ref), argument)).completion.values

    @contextlib.asynccontextmanager
    async def updated(self, uri):
        if ERA == "legacy":
            await self._client.subscribe_resource(uri)
            yield self._updates
            await self._client.unsubscribe_resource(uri)
            return
        async with self._client.listen(resource_subscriptions=[uri]) as subscription:
            async with pumped(subscription, self._updates):
                yield self._updates


@contextlib.asynccontextmanager
async def pumped(subscription, queue):
    """Puts what a subscription gives into a queue meanwhile."""

    async def pump():
        async for event in subscription:
            queue.put_nowait(event)

    pumping = asyncio.create_task(pump())
    try:
        yield
    finally:
        pumping.cancel()
        await asyncio.wait([pumping])


@contextlib.asynccontextmanager
async def connect(wire, url, token):
    changes, updates = asyncio.Queue(), asyncio.Queue()

    async def on_message(message):
        if ERA == "legacy" and isinstance(message, ToolListChangedNotification):
            changes.put_nowait(message)
        if ERA == "legacy" and isinstance(message, ResourceUpdatedNotification):
            updates.put_nowait(message)

    callbacks = {
        "elicitation_callback": on_elicit,
        "sampling_callback": on_sample,
        "list_roots_callback": on_list_roots,
        "message_handler": on_message,
    }

    http = httpx2.AsyncClient(
        headers={"Authorization": f"Bearer {token}"}, event_hooks=wire.hooks, timeout=httpx2.Timeout(30, read=300)
    )
    async with http:
        transport = streamable_http_client(url, http_client=http)
        info = Implementation(name="e2e-py-mcp-2", version="1.0.0")
        async with Client(transport, mode=MODE, client_info=info, **callbacks) as client:
            yield Agent(client, changes, updates)


run("py-mcp-2", MODE, ERA, connect)
