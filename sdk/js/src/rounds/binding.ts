/** Which request a `requestState` belongs to: method, name or URI, subject and arguments. */
import type { CallMessage } from "../messages.js";

/** The same text for the same request of the same subject, and for no other. */
export function bindingOf({ method, params = {}, context = {} }: CallMessage): string {
  const target = params["name"] ?? params["uri"];
  return JSON.stringify([method, target, context.subject ?? null, sorted(params["arguments"] ?? {})]);
}

/** Members in one order, for agents may write them in another when they ask again. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}
