// The resources of the fixture that do more than give a fixed content.

const WATCHED = 'test://watched-resource';

/** Readers by URI and by template, and the tool that changes what is watched. */
export function programmedResources({ resourceUpdated }) {
  let changes = 0;
  const watched = () => `watched ${changes}`;
  return {
    readers: { [WATCHED]: watched },
    templateReaders: {
      'test://template/{id}/data': (_, { id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    },
    tools: {
      test_update_watched_resource: () => {
        changes += 1;
        resourceUpdated(WATCHED);
        return watched();
      },
    },
  };
}
