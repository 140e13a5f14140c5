/** The stateless way to ask: a handler returns the questions and ends, and a later call runs it anew. */
import type { InputRequests } from "./run.js";

export interface InputRequiredOptions {
  /** the questions, by keys under which the answers will be in `context.inputResponses` */
  requests?: InputRequests;
  /** any JSON; it comes back as `context.state`, and no agent can read or alter it */
  state?: unknown;
}

/** What {@link inputRequired} returns, for a handler to return. */
export class InputRequired {
  readonly requests: InputRequests | undefined;
  readonly state: unknown;

  /** @internal */
  constructor({ requests, state }: InputRequiredOptions) {
    this.requests = requests;
    this.state = state;
  }
}

/**
 * To be returned by a handler that needs something of the agent first: the handler is then run
 * again, with the answers in `context.inputResponses` and the state in `context.state`. Nothing is
 * kept here meanwhile, unlike with `context.elicit`.
 * @throws TypeError if there is neither a request nor a state
 */
export function inputRequired(options: InputRequiredOptions): InputRequired {
  if (options.state === undefined && Object.keys(options.requests ?? {}).length === 0) {
    throw new TypeError("inputRequired needs a request or a state");
  }
  return new InputRequired(options);
}
