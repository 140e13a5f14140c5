// The tools and prompts of the fixture that ask the agent or its user.

import { elicitRequest, inputRequired, sampleRequest, ToolError } from '../../sdk/js/dist/index.js';
import { catalogue } from './catalogue.mjs';

const { forms } = catalogue;

/** What the user put into a form of the catalogue. */
export async function fill(call, name, key = name) {
  const { message, schema } = forms[name];
  const answer = await call.elicit(message, schema, { key });
  if (answer.action !== 'accept') throw new ToolError(`the user did not answer: ${answer.action}`);
  return answer.content;
}

const question = (name) => elicitRequest(forms[name].message, forms[name].schema);
const saying = (text, maxTokens) => ({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });
const toldOf = ({ action, content = {} }) => `action=${action}, content=${JSON.stringify(content)}`;

/** What is asked for if the agent declared the capability. */
const BY_CAPABILITY = {
  elicitation: { elicit_input: question('elicit_input') },
  sampling: { sample_input: sampleRequest(saying('Say something', 50)) },
};

export const askingTools = {
  test_sampling: async ({ prompt }, call) => {
    const { content } = await call.sample(saying(prompt, 100), { key: 'sample' });
    return `LLM response: ${content.text}`;
  },
  test_elicitation: async ({ message }, call) => {
    return `User response: ${toldOf(await call.elicit(message, forms.user_info.schema, { key: 'user_info' }))}`;
  },
  test_elicitation_sep1034_defaults: completed('defaults'),
  test_elicitation_sep1330_enums: completed('enums'),

  test_input_required_result_elicitation: async (_, call) => `Hello, ${(await fill(call, 'user_name')).name}!`,
  test_input_required_result_sampling: async (_, call) => {
    const { content } = await call.sample(saying('What is the capital of France?', 100), { key: 'capital_question' });
    return `Sampling result: ${content.text}`;
  },
  test_input_required_result_list_roots: async (_, call) => {
    return `Found ${(await call.listRoots({ key: 'client_roots' })).length} root(s)`;
  },
  test_input_required_result_request_state: confirmed('request-state', 'state-ok: requestState validated'),
  test_input_required_result_tampered_state: confirmed('tamper-test', 'integrity-ok: state verified'),
  test_input_required_result_multiple_inputs: async (_, call) => {
    const [{ name }, { content }, roots] = await Promise.all([
      fill(call, 'user_name'),
      call.sample(saying('Generate a greeting', 50), { key: 'greeting' }),
      call.listRoots({ key: 'client_roots' }),
    ]);
    return `Name: ${name}; Greeting: ${content.text}; Roots: ${roots.length}`;
  },
  test_input_required_result_multi_round: async (_, call) => {
    const { name } = await fill(call, 'step1');
    const { color } = await fill(call, 'step2');
    return `Multi-round complete for ${name} who likes ${color}`;
  },
  test_input_required_result_capabilities: (_, { clientCapabilities, inputResponses }) => {
    const capabilities = Object.keys(BY_CAPABILITY).filter((name) => clientCapabilities[name]);
    if (inputResponses || capabilities.length === 0) return `Asked with: ${capabilities.join(', ')}`;
    return inputRequired({ requests: Object.assign({}, ...capabilities.map((name) => BY_CAPABILITY[name])) });
  },
};

export const askingPrompts = {
  test_input_required_result_prompt: async (_, call) => {
    return `Prompt with context: ${(await fill(call, 'user_context')).context}`;
  },
};

function completed(form) {
  return async (_, call) => {
    const { message, schema } = forms[form];
    return `Elicitation completed: ${toldOf(await call.elicit(message, schema, { key: form }))}`;
  };
}

/** Asks without keeping anything: the state goes through the agent. */
function confirmed(kind, text) {
  return (_, { inputResponses, state }) => {
    const { action, content } = inputResponses?.confirm ?? {};
    if (state?.kind === kind && action === 'accept' && content?.ok === true) return text;
    return inputRequired({ requests: { confirm: question('confirm') }, state: { kind } });
  };
}
