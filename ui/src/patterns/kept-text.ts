import { type Field, textOf, type FieldValue, type Values } from './form-fields.js';

/** By the page and the field; a tab has its own. */
const keyOf = ({ name }: Field): string => `sealwright.kept ${location.pathname} ${name}`;

/** What somebody wrote before they were led away, such as to their identity provider. */
export function keptOf(fields: readonly Field[]): Values {
  const kept = fields.filter(({ isKept }) => isKept).map((field) => [field.name, sessionStorage.getItem(keyOf(field))]);
  return Object.fromEntries(kept.filter(([, text]) => text !== null)) as Values;
}

export function keep(field: Field, value: FieldValue): void {
  if (field.isKept) sessionStorage.setItem(keyOf(field), textOf(value));
}

export function forget(fields: readonly Field[]): void {
  for (const field of fields) if (field.isKept) sessionStorage.removeItem(keyOf(field));
}
