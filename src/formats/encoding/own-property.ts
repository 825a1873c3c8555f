/**
 * Looks up an untrusted name in a table. Undefined if the name is not in the table, even for the names that every object inherits, such as `constructor`,
 * `toString` and `__proto__`.
 */
export function ownProperty<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
