/**
 * The value with each item or member changed as `change` says; the very same value when nothing changes. Most values that are looked
 * through stay as they are: those are not built anew.
 */
export function withChanged<Value extends object>(
  value: Value,
  change: (member: unknown, name: string) => unknown,
): Value {
  let changed: Map<string, unknown> | undefined;
  const members = value as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const next = change(members[name], name);
    if (next !== members[name]) changed = (changed ?? new Map<string, unknown>()).set(name, next);
  }
  if (changed === undefined) return value;
  const entries = Object.entries(members).map(([name, member]): [string, unknown] => [
    name,
    changed.has(name) ? changed.get(name) : member,
  ]);
  const copy = Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
  return copy as Value;
}
