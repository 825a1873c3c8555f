import { fromBase64 } from '../../formats/encoding/base64.js';

/** One line of what a script printed: its tag and its fields. */
export interface ScriptLine {
  readonly tag: string;
  readonly fields: readonly Buffer[];
}

/** Reads what the scripts print. Undefined when the last line is not `end`: it is not all that there was to tell. */
export function readScriptOutput(output: Buffer): ScriptLine[] | undefined {
  const lines = output.toString('latin1').trimEnd().split('\n');
  if (lines.pop() !== 'end') return undefined;
  const read = lines.flatMap((line) => {
    const [tag = '', ...given] = line.split('\t');
    const fields = given.flatMap((field) => fromBase64(field) ?? []);
    return fields.length === given.length ? [{ tag, fields }] : [];
  });
  return read.length === lines.length ? read : undefined;
}

/** A field as text; the host's bytes need not be UTF-8. */
export function fieldTextOf({ fields }: ScriptLine, index: number): string {
  return fields[index]?.toString('utf8').replaceAll('\0', '') ?? '';
}

/** What people may read of a host's text. */
export function shown(text: string, most = 255): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, most);
}
