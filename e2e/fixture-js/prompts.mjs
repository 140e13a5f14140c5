// The prompts of the fixture that do more than give a fixed result, but for those that ask.

export const programmedPrompts = {
  test_prompt_with_arguments: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    user({
      type: 'resource',
      resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
    }),
    user({ type: 'text', text: 'Please process the embedded resource above.' }),
  ],
};

function user(content) {
  return { role: 'user', content };
}
