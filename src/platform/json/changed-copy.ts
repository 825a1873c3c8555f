/**
 * The value with each item or member changed as `change` says; the very same value when nothing changes. Most values that are looked
 * through stay as they are: those are not built anew.
 */
export function withChanged<Value extends object>(
  value: Value,
  change: (member: unknown, name: string) => unknown,
): Value {
  const members = value as Record<string, unknown>;
  let copy: Record<string, unknown> | undefined;
  for (const name of Object.keys(members)) {
    const next = change(members[name], name);
    if (next === members[name]) continue;
    copy ??= (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Record<string, unknown>;
    // The copy has this member: even one that is called __proto__ is its own.
    copy[name] = next;
  }
  return (copy ?? value) as Value;
}
