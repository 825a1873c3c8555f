import { useEffect, useState } from 'react';
import { type Field, type FieldValue, textOf, type Values } from './form-fields.js';

interface KeptText {
  /** What somebody wrote before they were led away, such as to their identity provider. */
  readonly before: Values;
  readonly keep: (field: Field, value: FieldValue) => void;
}

/** Keeps what is written, by the page and the field, until the form ends in whichever way but by the browser leaving. A tab has its own. */
export function useKeptText(fields: readonly Field[]): KeptText {
  const [kept] = useState(() => keptOn(location.pathname, fields));
  useEffect(() => kept.forget, [kept]);
  return kept;
}

function keptOn(page: string, fields: readonly Field[]) {
  const keys = new Map(
    fields.flatMap(({ name, isKept }) => (isKept ? [[name, `sealwright.kept ${page} ${name}`]] : [])),
  );
  const before: Record<string, string> = {};
  for (const [name, key] of keys) {
    const text = sessionStorage.getItem(key);
    if (text !== null) before[name] = text;
  }
  return {
    before,
    keep: ({ name }: Field, value: FieldValue) => {
      const key = keys.get(name);
      if (key !== undefined) sessionStorage.setItem(key, textOf(value));
    },
    forget: () => {
      for (const key of keys.values()) sessionStorage.removeItem(key);
    },
  };
}
