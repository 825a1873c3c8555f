import { type Mode, readBom } from '../cyclonedx/bom-reader.js';
import { BomText } from '../cyclonedx/bom-text.js';
import { isMembers } from '../cyclonedx/json-values.js';
import { type CredentialOptions, readCredentials } from '../certificates/credential-reader.js';
import { Problem } from '../../platform/http/problem.js';
import { type Outline, outlineOf } from '../../platform/json/json-outline.js';
import type { CheckedDocument, Draft } from './draft.js';
import { isSarif, readSarif } from './sarif-reader.js';
import { isSensorScan, readSensorScan } from './sensor-scan-reader.js';

/** `any`: whatever it looks like, JSON or certificates and keys. */
export type BodyKind = 'json' | 'ndjson' | 'any';

export interface BodyOptions extends CredentialOptions {
  readonly kind: BodyKind;
  readonly mode: Mode;
}

/** Where a text may hold what PostgreSQL cannot store: only then the parsed value is looked through. Most texts have no such escapes. */
const ESCAPE = String.raw`\u`;
const UNSTORABLE = /\\u0000|\\ud[89a-f]/i;
const MOST_DEPTH = 200;
const BOM_FORMAT = 'CycloneDX';

/**
 * Reads a body into what it says: a CycloneDX document, SARIF, a scan of a sensor, or certificates and keys.
 *
 * @throws Problem 400 for what is no JSON, 422 for what is none of these.
 */
export function readBody(bytes: Buffer, { kind, mode, ...options }: BodyOptions): CheckedDocument {
  if (kind === 'any' && !looksLikeJson(bytes)) return asItIs(readCredentials(bytes, options));
  const outline = kind === 'ndjson' ? undefined : outlineOf(bytes);
  if (outline !== undefined && isBom(bytes, outline)) return readBom(new BomText(bytes, parseBytes, outline), mode);
  const document = kind === 'ndjson' ? { assets: linesOf(textOf(bytes)) } : parseBytes(bytes);
  if (!isMembers(document)) throw unknownFormat();
  if (document['bomFormat'] === BOM_FORMAT) return readBom(new BomText(bytes, () => document), mode);
  if (isSarif(document)) return asItIs(readSarif(document));
  if (isSensorScan(document)) return asItIs(readSensorScan(document));
  throw unknownFormat();
}

function isBom(bytes: Buffer, outline: Outline): boolean {
  const { start, end } = outline.get('bomFormat') ?? { start: 0, end: 0 };
  return bytes.toString('latin1', start, Math.min(end, start + 100)).trimEnd() === `"${BOM_FORMAT}"`;
}

function asItIs(draft: Draft): CheckedDocument {
  return { ...draft, said: undefined, draft: () => draft };
}

function looksLikeJson(bytes: Buffer): boolean {
  return /^[\uFEFF\s]*[{[]/.test(bytes.toString('utf8', 0, 64));
}

function unknownFormat(): Problem {
  const detail =
    'is neither CycloneDX JSON ("bomFormat": "CycloneDX"), nor SARIF 2.1.0 ("runs"), nor a sensor scan ("assets")';
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer: '', detail }] });
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Problem('malformed', 'request.malformed', 'The body is not valid UTF-8.', { cause });
  }
}

function parseBytes(bytes: Buffer): unknown {
  return parse(textOf(bytes), '');
}

function parse(text: string, pointer: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The message of the parser quotes the body, which may hold a secret.
    throw new Problem('malformed', 'request.malformed', 'The body is not valid JSON.', {
      errors: [{ pointer, detail: 'is not valid JSON' }],
    });
  }
  if (text.includes(ESCAPE) && UNSTORABLE.test(text)) assertStorable(value);
  return value;
}

function linesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => parse(line, `/assets/${index}`));
}

/** NUL characters and halves of surrogate pairs; walks without recursion. */
function assertStorable(root: unknown): void {
  const stack: { value: unknown; pointer: string; depth: number }[] = [{ value: root, pointer: '', depth: 0 }];
  for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
    const { value, pointer, depth } = place;
    if (typeof value === 'string') assertText(value, pointer);
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MOST_DEPTH) throw unstorable(pointer, `is nested deeper than ${MOST_DEPTH} levels`);
    for (const [name, member] of Object.entries(value)) {
      assertText(name, pointer);
      stack.push({
        value: member,
        pointer: `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
        depth: depth + 1,
      });
    }
  }
}

function assertText(text: string, pointer: string): void {
  if (text.includes('\u0000')) throw unstorable(pointer, 'holds a NUL character');
  if (!text.isWellFormed()) throw unstorable(pointer, 'holds half of a surrogate pair');
}

function unstorable(pointer: string, detail: string): Problem {
  return new Problem('refused', 'document.invalid', `The document is refused: a text ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}
