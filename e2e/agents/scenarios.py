"""What every Python agent does against the cluster, and what must come of it.

An agent hands in `connect(wire, url, token)`, an async context manager whose value has
`protocol_version`, `list_tools()`, `call_tool(name, arguments, on_progress)`,
`cancellable_call(name, arguments)`, `tools_changed()`, `list_prompts()`, `get_prompt(name, arguments)`,
`list_resources()`, `list_templates()`, `read_resource(uri)`, `complete(ref, argument)` and `updated(uri)`, and
which answers what the server asks with FORMS, `sampled` and ROOTS. Each scenario prints one line,
`ok|FAIL <agent> <mode> <scenario> [detail]`, and compares contents, never mere success.
"""

import asyncio
import contextlib
import json
import os
import sys
import time

PATIENCE_S = 10.0
"""How long any wait for the other side may take."""


REASON_LENGTH = 600
"""A failure's text is cut after so many characters."""


WATCHED = "test://watched-resource"

FORMS = {
    "Who are you?": {"email": "ada@example.com", "username": "ada"},
    "What is your name?": {"name": "Ada"},
    "Please confirm": {"ok": True},
    "Step 1: What is your name?": {"name": "Ada"},
    "Step 2: What is your favorite color?": {"color": "blue"},
}
"""What the user of each agent fills in, by the form's message."""

ROOTS = [{"uri": "file:///ada", "name": "Ada"}]
"""The roots of each agent."""


def sampled(text):
    """What the model of each agent says to a text."""
    return f"Yes: {text}"


class Wire:
    """The agent's HTTP traffic, recorded by hooks of its HTTP client: which request was answered how."""

    def __init__(self):
        self.exchanges = []
        self.stream_open = asyncio.Event()
        self.hooks = {"request": [self._on_request], "response": [self._on_response]}

    async def _on_request(self, request):
        rpc = json.loads(request.content) if request.method == "POST" else {}
        exchange = {"method": request.method, "rpc": rpc.get("method"), "params": rpc.get("params") or {}}
        request.extensions["exchange"] = exchange
        self.exchanges.append(exchange)

    async def _on_response(self, response):
        exchange = response.request.extensions["exchange"]
        exchange["status"] = response.status_code
        exchange["type"] = response.headers.get("content-type", "")
        is_stream = exchange["method"] == "GET" or exchange["rpc"] == "subscriptions/listen"
        if is_stream and response.status_code == 200:
            self.stream_open.set()

    def _latest(self, **wanted):
        matching = (e for e in reversed(self.exchanges) if all(e[k] == v for k, v in wanted.items()))
        return next(matching)

    def answer_type_of(self, tool):
        """The content type with which the latest call of `tool` was answered."""
        calls = (e for e in reversed(self.exchanges) if e["rpc"] == "tools/call" and e["params"]["name"] == tool)
        return next(calls)["type"]

    def status_of(self, method):
        """The HTTP status of the latest request with this HTTP method."""
        return self._latest(method=method)["status"]

    def count_of(self, rpc_method):
        """How many JSON-RPC messages with this method were sent."""
        return sum(e["rpc"] == rpc_method for e in self.exchanges)


def expect(actual, expected, what):
    """Fails with both values unless they are equal."""
    if actual != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {actual!r}")


def check(condition, what):
    """Fails with `what` unless the condition holds."""
    if not condition:
        raise AssertionError(what)


async def call_text(agent, name, arguments=None, on_progress=None):
    """Calls a tool that must succeed and gives its one text."""
    result = await agent.call_tool(name, arguments or {}, on_progress)
    expect(result["isError"], False, f"isError of {name}, which answered {result['content']}")
    return text_of(result)


def text_of(result):
    """The one text item of a tool result."""
    expect([item["type"] for item in result["content"]], ["text"], "content types")
    return result["content"][0]["text"]


async def slow_stats(agent):
    """The app's own count of its slow calls."""
    return json.loads(await call_text(agent, "test_slow_stats"))


def fixed(tools):
    """The tools without the one that comes and goes."""
    return [tool for tool in tools if not tool["name"].startswith("test_dynamic_")]


def catalogue():
    """What the fixture app offers."""
    with open(os.environ["FIXTURE_CATALOGUE"], encoding="utf-8") as file:
        return json.load(file)


async def scenario_list(agent, wire, era):
    expected = catalogue()["tools"]
    listed = fixed(await agent.list_tools())
    expect([tool["name"] for tool in listed], [tool["name"] for tool in expected], "names")
    for tool, wanted in zip(listed, expected, strict=True):
        expect(tool["description"], wanted["description"], f"description of {wanted['name']}")
        expect(tool["inputSchema"], wanted["inputSchema"], f"schema of {wanted['name']}")
    return f"{len(listed)} tools"


async def scenario_call(agent, wire, era):
    text = await call_text(agent, "test_simple_text")
    expect(text, "This is a simple text response for testing.", "text")
    key = f"schlüssel {os.getpid()} {time.time_ns()} ⚙"
    expect(await call_text(agent, "test_count", {"key": key}), "1", "first count")
    expect(await call_text(agent, "test_count", {"key": key}), "2", "second count")


async def scenario_tool_error(agent, wire, era):
    result = await agent.call_tool("test_error_handling", {}, None)
    expect(result["isError"], True, "isError")
    expect(text_of(result), "This tool intentionally returns an error for testing", "text")


async def scenario_slow(agent, wire, era):
    start = time.monotonic()
    expect(await call_text(agent, "test_slow", {"ms": 2500}), "slept 2500 ms", "text")
    took = round((time.monotonic() - start) * 1000)
    check(took >= 2490, f"took only {took} ms")
    answer_type = wire.answer_type_of("test_slow")
    check(answer_type.startswith("text/event-stream"), f"answered as {answer_type}")
    return f"{took} ms"


async def scenario_progress(agent, wire, era):
    seen = []

    async def on_progress(progress, total, message):
        seen.append((progress, total, message))

    text = await call_text(agent, "test_tool_with_progress", {}, on_progress)
    expect(text, "Tool with progress executed successfully", "text")
    expect(seen, [(n, 100, f"Completed step {n} of 100") for n in (0, 50, 100)], "progress")
    seen.clear()
    expect(await call_text(agent, "test_slow", {"ms": 2000}, on_progress), "slept 2000 ms", "text")
    check(len(seen) >= 2, f"progress of a slow call: {seen}")
    check(all(total == 2000 for _, total, _ in seen), f"totals: {seen}")
    check(all(a[0] < b[0] for a, b in zip(seen, seen[1:], strict=False)), f"not growing: {seen}")


async def cancel_after(seconds, agent, wire, era):
    """Takes a running call back and waits until the app has counted that."""
    before = await slow_stats(agent)
    cancels = wire.count_of("notifications/cancelled")
    call = agent.cancellable_call("test_slow", {"ms": 20_000})
    await asyncio.sleep(seconds)
    running = await slow_stats(agent)
    expect(running, {**before, "started": before["started"] + 1}, "counts while the call runs")
    await asyncio.wait_for(call.cancel(), PATIENCE_S)
    stats, deadline = running, time.monotonic() + PATIENCE_S
    while stats["cancelled"] == before["cancelled"] and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
        stats = await slow_stats(agent)
    expect(stats, {**running, "cancelled": before["cancelled"] + 1}, "counts after the cancel")
    sent = wire.count_of("notifications/cancelled") - cancels
    expect(sent, 1 if era == "legacy" else 0, "notifications/cancelled sent")


async def scenario_cancel(agent, wire, era):
    await cancel_after(0.5, agent, wire, era)


async def scenario_cancel_stream(agent, wire, era):
    await cancel_after(1.5, agent, wire, era)
    answer_type = wire.answer_type_of("test_slow")
    check(answer_type.startswith("text/event-stream"), f"answered as {answer_type}")


async def scenario_list_changed(agent, wire, era):
    async with agent.tools_changed() as changes:
        await asyncio.wait_for(wire.stream_open.wait(), PATIENCE_S)
        start = await agent.list_tools()
        for _ in range(2):
            verb, name = (await call_text(agent, "test_trigger_tool_change")).split(" ")
            await asyncio.wait_for(changes.get(), PATIENCE_S)
            names = [tool["name"] for tool in await agent.list_tools()]
            expect(name in names, verb == "added", f"{name} was {verb}; listed are {names}")
            if verb == "added":
                expect(await call_text(agent, name), f"dynamic {name.removeprefix('test_dynamic_')}", "text")
        end = await agent.list_tools()
        check(fixed(end) == fixed(start), "the other tools must stay as they are")
        expect(len(end), len(start), "two changes must end where they began")
        expect(changes.qsize(), 0, "notifications beyond one for each change")


async def refused(awaitable, text):
    """Awaits what must fail with this text."""
    try:
        result = await awaitable
    except Exception as error:
        check(text in str(error), f"{text!r} is not in {error}")
    else:
        raise AssertionError(f"not refused: {result}")


async def scenario_prompts(agent, wire, era):
    known = catalogue()
    prompts = [prompt for prompt in await agent.list_prompts() if not prompt["name"].startswith("test_dynamic_")]
    expect(prompts, known["prompts"], "prompts")
    messages = await agent.get_prompt("test_prompt_with_arguments", {"arg1": "ä", "arg2": "2"})
    text = "Prompt with arguments: arg1='ä', arg2='2'"
    expect(messages, [{"role": "user", "content": {"type": "text", "text": text}}], "messages")
    image = await agent.get_prompt("test_prompt_with_image", {})
    expect(image, known["promptResults"]["test_prompt_with_image"]["messages"], "image")
    await refused(agent.get_prompt("no such prompt", {}), "no such prompt")


async def scenario_resources(agent, wire, era):
    known = catalogue()
    expect(await agent.list_resources(), known["resources"], "resources")
    expect(await agent.list_templates(), known["resourceTemplates"], "templates")
    types = {resource["uri"]: resource["mimeType"] for resource in known["resources"]}
    for uri, content in known["contents"].items():
        expect(await agent.read_resource(uri), [{"uri": uri, "mimeType": types[uri], **content}], uri)
    uri = "test://template/caf%C3%A9/data"
    text = '{"id":"café","templateTest":true,"data":"Data for ID: café"}'
    expect(await agent.read_resource(uri), [{"uri": uri, "mimeType": "application/json", "text": text}], uri)
    await refused(agent.read_resource("test://no-such"), "Resource not found")


async def scenario_complete(agent, wire, era):
    prompt = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    values = await agent.complete(prompt, {"name": "arg1", "value": "PAR"})
    expect(values, ["paris", "park", "party"], "of a prompt")
    template = {"type": "ref/resource", "uri": "test://template/{id}/data"}
    expect(await agent.complete(template, {"name": "id", "value": "12"}), ["12", "123"], "of a template")


async def scenario_updated(agent, wire, era):
    async with agent.updated(WATCHED) as updates:
        text = await call_text(agent, "test_update_watched_resource")
        await asyncio.wait_for(updates.get(), PATIENCE_S)
        expected = [{"uri": WATCHED, "mimeType": "text/plain", "text": text}]
        expect(await agent.read_resource(WATCHED), expected, "content")


async def scenario_question(agent, wire, era):
    answer = await call_text(agent, "test_elicitation", {"message": "Who are you?"})
    content = '{"email":"ada@example.com","username":"ada"}'
    expect(answer, f"User response: action=accept, content={content}", "form")
    expect(await call_text(agent, "test_sampling", {"prompt": "Well?"}), "LLM response: Yes: Well?", "sampling")
    answer = await call_text(agent, "test_input_required_result_multiple_inputs")
    expect(answer, "Name: Ada; Greeting: Yes: Generate a greeting; Roots: 1", "three at once")
    answer = await call_text(agent, "test_input_required_result_multi_round")
    expect(answer, "Multi-round complete for Ada who likes blue", "two rounds")
    answer = await call_text(agent, "test_input_required_result_request_state")
    expect(answer, "state-ok: requestState validated", "sealed state")


SCENARIOS = {
    "list": scenario_list,
    "call": scenario_call,
    "tool-error": scenario_tool_error,
    "slow": scenario_slow,
    "progress": scenario_progress,
    "cancel": scenario_cancel,
    "cancel-stream": scenario_cancel_stream,
    "list-changed": scenario_list_changed,
    "prompts": scenario_prompts,
    "resources": scenario_resources,
    "complete": scenario_complete,
    "updated": scenario_updated,
    "question": scenario_question,
}


class Report:
    """Prints a line per scenario and remembers whether any failed."""

    def __init__(self, agent, mode):
        self.prefix = f"{agent} {mode}"
        self.failed = False

    @contextlib.asynccontextmanager
    async def scenario(self, name):
        """Runs its body as the named scenario; the value's first entry becomes the detail."""
        detail = []
        try:
            async with asyncio.timeout(60):
                yield detail
        except Exception as error:  # a failure of whatever kind is a FAIL line
            self.failed = True
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {self.prefix} {name} {reason[:REASON_LENGTH]}", flush=True)
        else:
            print(" ".join([f"ok {self.prefix} {name}", *filter(None, detail)]), flush=True)


async def _run(agent_name, mode, era, connect):
    report = Report(agent_name, mode)
    wire = Wire()
    async with contextlib.AsyncExitStack() as connection:
        agent = None
        async with report.scenario("connect") as detail:
            agent = await connection.enter_async_context(connect(wire, os.environ["MCP_URL"], os.environ["MCP_TOKEN"]))
            expect(agent.protocol_version, "2025-11-25" if era == "legacy" else "2026-07-28", "version")
            detail.append(agent.protocol_version)
        if agent is None:
            return True
        for name, scenario in SCENARIOS.items():
            async with report.scenario(name) as detail:
                detail.append(await scenario(agent, wire, era))
        async with report.scenario("close"):
            await connection.aclose()
            if era == "legacy":
                check(wire.status_of("DELETE") in (200, 202, 204), f"DELETE: {wire.status_of('DELETE')}")
    return report.failed


def run(agent_name, mode, era, connect):
    """Runs all scenarios; the process's exit code tells whether all passed."""
    sys.exit(1 if asyncio.run(_run(agent_name, mode, era, connect)) else 0)
