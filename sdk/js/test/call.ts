/** Calls as the bridge sends them, with what tests mostly want. */

/** What a test says about its agent and its call. */
export interface CallMembers {
  params?: Record<string, unknown>;
  context?: Record<string, unknown>;
  [member: string]: unknown;
}

export const CAN_ALL = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};

/** A call of a modern agent that can be asked anything. */
export function callOf(id: string, method: string, { context = {}, ...members }: CallMembers = {}): Record<string, unknown> {
  return {
    type: "call",
    id,
    rootId: id,
    round: 0,
    attempt: 0,
    method,
    params: {},
    deadlineMs: 120_000,
    context: { protocolVersion: "2026-07-28", clientCapabilities: CAN_ALL, subject: "someone", ...context },
    ...members,
  };
}

/** A call of a tool. */
export function toolCall(id: string, name: string, args: unknown, members: CallMembers = {}): Record<string, unknown> {
  const { params, ...others } = members;
  return callOf(id, "tools/call", { params: { name, arguments: args, ...params }, ...others });
}

export function textResult(value: string, isError?: true): Record<string, unknown> {
  return { content: [{ type: "text", text: value }], ...(isError && { isError }) };
}
