import { readBom } from '../cyclonedx/bom-reader.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import { BomText } from '../cyclonedx/bom-text.js';
import { isMembers, bodyText, isUtf16, parseJson } from '../model/json.js';
import { type CredentialOptions, readCredentialFile } from '../certificates/credential-reader.js';
import { Problem } from '../../platform/errors/problem.js';
import { type Outline, outlineOf } from '../../platform/json/json-outline.js';
import type { CheckedDocument, Draft } from '../model/document.js';
import { isSarif, readSarif } from '../sarif/sarif-reader.js';
import { isSensorScan, readSensorScan } from './sensor-scan-reader.js';

/** `any`: the content decides between JSON and certificates or keys. */
export type BodyKind = 'json' | 'ndjson' | 'any';

export interface BodyOptions extends CredentialOptions {
  readonly kind: BodyKind;
  readonly mode: Mode;
}

/** The second one is that of the draft which CycloneDX 1.6 grew out of. */
const BOM_FORMATS: readonly unknown[] = ['CycloneDX', 'CBOM'];

/**
 * Reads a body: a CycloneDX document, SARIF, a scan of a sensor, or certificates and keys. A SARIF body has a document for each source that
 * it speaks of.
 *
 * @throws Problem 400 for what is no JSON, 422 for what is none of these.
 */
export function readBody(bytes: Buffer, options: BodyOptions): readonly CheckedDocument[] {
  const { kind, mode, source } = options;
  if (kind === 'any' && !looksLikeJson(bytes)) return [whole(readCredentialFile(bytes, options))];
  const outline = kind === 'ndjson' || isUtf16(bytes) ? undefined : outlineOf(bytes);
  if (outline !== undefined && isBom(bytes, outline)) return [readBom(new BomText(bytes, outline), mode)];
  const document = kind === 'ndjson' ? { assets: linesOf(bodyText(bytes)) } : parseJson(bodyText(bytes));
  if (!isMembers(document)) throw unknownFormat();
  if (BOM_FORMATS.includes(document['bomFormat'])) return [readBom(new BomText(bytes, undefined), mode)];
  if (isSarif(document)) return readSarif(document, source).map(whole);
  if (isSensorScan(document)) return [whole(readSensorScan(document, mode))];
  throw unknownFormat();
}

function isBom(bytes: Buffer, outline: Outline): boolean {
  const { start, end } = outline.get('bomFormat') ?? { start: 0, end: 0 };
  const given = bytes.toString('latin1', start, Math.min(end, start + 100)).trimEnd();
  return BOM_FORMATS.some((format) => given === `"${String(format)}"`);
}

/** A document that was read as a whole already. */
function whole(draft: Draft): CheckedDocument {
  return { ...draft, said: undefined, draft: () => draft };
}

function looksLikeJson(bytes: Buffer): boolean {
  return /^[\uFEFF\s]*[{[]/.test(isUtf16(bytes) ? utf16Start(bytes) : bytes.toString('utf8', 0, 64));
}

/** In either order of octets; a text of certificates may be UTF-16 as well. */
function utf16Start(bytes: Buffer): string {
  return bytes.toString('latin1', 0, 128).replaceAll(/\0|^\u00FF\u00FE|^\u00FE\u00FF/g, '');
}

function unknownFormat(): Problem {
  const detail =
    'is neither CycloneDX JSON ("bomFormat": "CycloneDX"), nor SARIF 2.1.0 ("runs"), nor a sensor scan ("assets")';
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer: '', detail }] });
}

function linesOf(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => parseJson(line, (member) => `/assets/${index}${member === '' ? '' : `/${member}`}`));
}
