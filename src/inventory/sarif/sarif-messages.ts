import { type JsonMembers, memberTextOf } from '../model/json-values.js';
import type { SarifRule } from './sarif-tool.js';
import { membersOf, textsOf } from './sarif-values.js';
import { truncate } from '../../platform/text/truncate.js';

const MAX_TEXT = 20_000;

/**
 * The text of a message of a result (SARIF 2.1.0 section 3.11): its own, or the string of the rule or of the tool that its `id`
 * names, with its arguments put in. The plain text comes first, then the markdown.
 */
export function messageText(message: JsonMembers, { descriptor, component }: SarifRule): string {
  const id = memberTextOf(message['id']);
  const strings = id === '' ? undefined : stringOf(descriptor['messageStrings'], id);
  const string = strings ?? (id === '' ? {} : (stringOf(component['globalMessageStrings'], id) ?? {}));
  const values = textsOf(message['arguments'] ?? []);
  const parts = [message['text'], message['markdown'], string['text'], string['markdown']].map(memberTextOf);
  return parts
    .filter((part) => part !== '')
    .map((part) => filledIn(truncate(part, MAX_TEXT), values))
    .join(' ');
}

function stringOf(strings: unknown, id: string): JsonMembers | undefined {
  const all = membersOf(strings);
  return Object.hasOwn(all, id) ? membersOf(all[id]) : undefined;
}

/** Placeholders `{0}`, and braces that are doubled because they are meant (section 3.11.5). */
function filledIn(text: string, values: readonly string[]): string {
  if (!text.includes('{')) return text;
  const filled = text.replaceAll(/\{\{|\}\}|\{(\d{1,4})\}/g, (found, index: string | undefined) =>
    index === undefined ? found.charAt(0) : (values[Number(index)] ?? found),
  );
  return truncate(filled, 2 * MAX_TEXT);
}
