// The tools of the fixture that do more than give a fixed result, but for those that ask and those
// that become tasks.

import { setTimeout as sleep } from 'node:timers/promises';

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const failure = (value) => ({ ...text(value), isError: true });

/** Handlers by tool name. */
export function programmedTools() {
  return {
    test_x_mcp_header: ({ region = '' }) => text(`region=${region}`),
    json_schema_2020_12_tool: (args) => text(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
    test_echo: (args, call) => ({ ...text(JSON.stringify(args)), structuredContent: call.params }),
    test_logging_tool: logOnce,
    test_tool_with_logging: logThrice,
    test_tool_with_progress: progressThrice,
    ...slowTools(),
    test_count: counter(),
  };
}

function logOnce(_, call) {
  call.log('info', 'Diagnostic message', 'fixture');
  return text('Logged.');
}

async function logThrice(_, call) {
  call.log('info', 'Tool execution started', 'fixture');
  await sleep(50);
  call.log('info', 'Tool processing data', 'fixture');
  await sleep(50);
  call.log('info', 'Tool execution completed', 'fixture');
  return text('Tool with logging executed successfully');
}

async function progressThrice(_, call) {
  for (const done of [0, 50, 100]) {
    if (done > 0) await sleep(50);
    call.progress(done, 100, `Completed step ${done} of 100`);
  }
  return text('Tool with progress executed successfully');
}

/** The slow tool and the tool that tells how its calls ended. */
function slowTools() {
  const stats = { started: 0, cancelled: 0, finished: 0 };

  async function slow({ ms }, call) {
    if (!Number.isInteger(ms) || ms < 0) return failure('ms must be an integer of 0 or more');
    stats.started += 1;
    let reported = 0;
    const reporter = setInterval(() => {
      reported += 200;
      if (reported < ms) call.progress(reported, ms);
    }, 200);
    try {
      await sleep(ms, undefined, { signal: call.signal });
    } catch {
      stats.cancelled += 1;
      throw call.signal.reason;
    } finally {
      clearInterval(reporter);
    }
    stats.finished += 1;
    return text(`slept ${ms} ms`);
  }

  return { test_slow: slow, test_slow_stats: () => text(JSON.stringify(stats)) };
}

function counter() {
  const counts = new Map();
  return ({ key }) => {
    if (typeof key !== 'string') return failure('key must be a string');
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return text(String(count));
  };
}
