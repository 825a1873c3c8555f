/**
 * The member of a table by a name that comes from outside. Undefined for a name that the table does not have, also for one that every object has:
 * `constructor`, `toString`, `__proto__`.
 */
export function ownMember<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
