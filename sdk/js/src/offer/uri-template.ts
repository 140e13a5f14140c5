/**
 * URI templates (RFC 6570), read backwards: from a URI to the variables. Modifiers (`{x*}`, `{x:3}`),
 * path parameters (`{;x}`) and continued queries (`{&x}`) are refused rather than matched loosely.
 */

/** As long as a resource's URI may be (SPEC.md §4.4); matching longer ones is work for nothing. */
const MAX_URI_LENGTH = 8192;

/** Before each value, between values, and what a value may consist of. */
const OPERATORS: Record<string, { first: string; between: string; value: string }> = {
  "": { first: "", between: ",", value: "[^/?#,]+" },
  "+": { first: "", between: ",", value: ".+" },
  "#": { first: "#", between: ",", value: ".+" },
  ".": { first: "\\.", between: "\\.", value: "[^./?#]+" },
  "/": { first: "/", between: "/", value: "[^/?#]+" },
};

export class UriTemplate {
  /** in their order */
  readonly variables: readonly string[];
  readonly #pattern: RegExp;
  /** those in the path, in the order of the pattern's groups */
  readonly #inPath: string[] = [];
  readonly #inQuery: string[] = [];

  /** @throws TypeError for a template that cannot be read backwards */
  constructor(template: string) {
    let pattern = "";
    const parts = template.split(/(\{[^{}]*\})/);
    for (const [at, part] of parts.entries()) {
      const isExpression = at % 2 === 1;
      if (!isExpression && /[{}]/.test(part)) throw new TypeError(`${template} is no URI template`);
      pattern += isExpression ? this.#expression(part, template) : literal(part);
    }
    this.#pattern = new RegExp(`^${pattern}$`, "s");
    this.variables = [...this.#inPath, ...this.#inQuery];
  }

  /** The variables with which the template yields this URI; undefined if there are none. */
  match(uri: string): Record<string, string> | undefined {
    if (uri.length > MAX_URI_LENGTH) return undefined;
    const [path, query] = this.#inQuery.length > 0 ? cutQuery(uri) : [uri, ""];
    const found = this.#pattern.exec(path);
    if (!found) return undefined;
    const values: Record<string, string> = {};
    for (const [at, name] of this.#inPath.entries()) values[name] = decode(found[at + 1] ?? "");
    const given = new URLSearchParams(query);
    for (const name of this.#inQuery) {
      const value = given.get(name);
      if (value !== null) values[name] = value;
    }
    return values;
  }

  /** The pattern of `{…}`. */
  #expression(expression: string, template: string): string {
    const [, operator = "", list = ""] = /^\{([+#./;?&|!@=,]?)(.*)\}$/.exec(expression) ?? [];
    const names = list.split(",");
    if (!names.every((name) => /^[\w.%]+$/.test(name))) {
      throw new TypeError(`the URI template ${template} cannot be matched: {${operator}${list}}`);
    }
    if (operator === "?") {
      this.#inQuery.push(...names);
      return "";
    }
    const rule = OPERATORS[operator];
    if (!rule) throw new TypeError(`the URI template ${template} cannot be matched: {${operator}${list}}`);
    this.#inPath.push(...names);
    // A comma belongs to the value where no second one could follow.
    const value = operator === "" && names.length === 1 ? "[^/?#]+" : rule.value;
    return rule.first + names.map(() => `(${value})`).join(rule.between);
  }
}

function literal(text: string): string {
  return text.replace(/[.*+?^$|()[\]\\]/g, "\\$&");
}

function cutQuery(uri: string): [path: string, query: string] {
  const at = uri.indexOf("?");
  return at < 0 ? [uri, ""] : [uri.slice(0, at), uri.slice(at + 1).replace(/#.*$/s, "")];
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
