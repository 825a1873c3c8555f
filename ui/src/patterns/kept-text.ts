import { useEffect, useState } from 'react';
import { type Field, type FieldValue, textOf, type Values } from './form-fields.js';

interface KeptText {
  /** Text from before a redirect, for example to the identity provider. */
  readonly before: Values;
  readonly keep: (field: Field, value: FieldValue) => void;
}

/** useKeptText stores the text of a field per tab and page until the form is submitted or canceled, so that it survives a redirect. */
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
