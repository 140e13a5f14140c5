// The tools of the fixture whose calls become tasks where the agent allows it.

import { setTimeout as sleep } from 'node:timers/promises';
import { RpcError, ToolError } from '../../sdk/js/dist/index.js';
import { fill } from './asking.mjs';

const JOB_MS = 1_000;
const TASK = { ttlMs: 60_000, pollIntervalMs: 200 };

/** Sleeps, and ends with the call if that is cancelled. */
const pause = (ms, { signal }) => sleep(ms, undefined, { signal });

export const taskTools = {
  greet: ({ name }) => `Hello, ${name}!`,
  slow_compute: async ({ seconds, label = '' }, call) => {
    call.becomeTask({ ...TASK, statusMessage: `computing ${label}` });
    await pause(seconds * 1_000, call);
    return `computed ${label} in ${seconds} s`;
  },
  failing_job: async (_, call) => {
    call.becomeTask(TASK);
    await pause(JOB_MS, call);
    throw new ToolError('the job failed');
  },
  protocol_error_job: async (_, call) => {
    call.becomeTask(TASK);
    await pause(JOB_MS, call);
    throw new RpcError(-32603, 'the job broke the protocol');
  },
  confirm_delete: async ({ filename }, call) => {
    call.becomeTask(TASK);
    const { confirm } = await fill(call, 'confirm_delete');
    return confirm ? `Deleted ${filename}` : `Kept ${filename}`;
  },
  multi_input: async (_, call) => {
    call.becomeTask(TASK);
    const [first, second] = await Promise.all([fill(call, 'first'), fill(call, 'second')]);
    return `${first.name} and ${second.name}`;
  },
  test_tool_with_task: async (_, call) => {
    const { name } = await fill(call, 'user_name');
    call.becomeTask(TASK);
    await pause(JOB_MS, call);
    return `Task done for ${name}`;
  },
};
