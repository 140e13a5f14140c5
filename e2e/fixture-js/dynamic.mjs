// An entry of a list that comes with one call and goes with the next.

/** A tool that lists `PREFIX_N`, or takes it away: `list` gets the name and the number, or nothing. */
export function comesAndGoes(prefix, list) {
  let number = 0;
  let listed = false;
  return () => {
    if (listed) {
      listed = false;
      list();
      return `removed ${prefix}_${number}`;
    }
    listed = true;
    number += 1;
    list(`${prefix}_${number}`, number);
    return `added ${prefix}_${number}`;
  };
}
