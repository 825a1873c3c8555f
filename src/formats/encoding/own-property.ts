/**
 * Returns the value of a table for an untrusted name. Undefined for a name that is not in the table, including names that every object has:
 * `constructor`, `toString`, `__proto__`.
 */
export function ownProperty<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
