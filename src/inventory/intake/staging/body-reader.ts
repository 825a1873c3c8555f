import { readBom } from '../cyclonedx/bom-reader.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import { BomText } from '../cyclonedx/bom-text.js';
import {
  assertExactNumbers,
  isMembers,
  bodyText,
  isUtf16,
  type JsonMembers,
  parseExactJson,
  parseJson,
} from '../../model/json.js';
import { type CredentialOptions, readCredentialFile } from '../key-files/credential-reader.js';
import { Problem } from '../../../platform/errors/problem.js';
import { findAmbiguity } from '../../../platform/json/strict-json.js';
import { type Outline, outlineOf } from '../../../platform/json/json-outline.js';
import { truncate } from '../../../platform/text/truncate.js';
import type { CheckedDocument, Draft } from '../../model/document.js';
import { isSarif, readSarif } from '../sarif/sarif-reader.js';
import { notRead, scannerOf } from '../../model/scanner-results.js';
import { isSensorScan, readSensorScan } from './sensor-scan-reader.js';
import { createHash } from 'node:crypto';

/** BodyKind is the format that the media type indicates. For `any`, the content determines whether the body is JSON, or certificates and keys. */
export type BodyKind = 'json' | 'ndjson' | 'any';

export interface BodyOptions extends CredentialOptions {
  readonly kind: BodyKind;
  readonly mode: Mode;
}

/** Values of `bomFormat`. `CBOM` is the value in the draft from which CycloneDX 1.6 evolved. */
const BOM_FORMATS: readonly unknown[] = ['CycloneDX', 'CBOM'];

/**
 * readBody reads a body: a CycloneDX document, SARIF, a sensor scan, or certificates and keys. A SARIF body yields a document for each of its sources.
 *
 * @throws Problem 400 if the body is not JSON, 422 if the body is in none of these formats
 */
export function readBody(bytes: Buffer, options: BodyOptions): readonly CheckedDocument[] {
  const { kind, mode } = options;
  const stranger = strangerBy(bytes);
  if (stranger !== undefined) throw refused(strangerIn(bytes, stranger));
  if (kind === 'any' && !looksLikeJson(bytes)) return [whole(readCredentialFile(bytes, options))];
  const outline = kind === 'ndjson' || isUtf16(bytes) ? undefined : outlineOf(bytes);
  if (outline !== undefined && isBom(bytes, outline)) return [readBom(new BomText(bytes, outline), mode)];
  const text = bodyText(bytes);
  if (kind === 'ndjson') return [whole(readSensorScan({ assets: linesOf(text) }, mode))];
  const document = parseJson(text);
  if (!isMembers(document)) return readUnknown(text, options, undefined);
  if (outline === undefined) refuseRepeated(text);
  if (BOM_FORMATS.includes(document['bomFormat'])) return [readBom(new BomText(bytes, undefined), mode)];
  return readMembers(document, text, options);
}

function readMembers(document: JsonMembers, text: string, options: BodyOptions): readonly CheckedDocument[] {
  const { mode, source } = options;
  if (isSarif(document)) return readSarif(document, source, text.length).map(whole);
  if (isSensorScan(document)) {
    assertExactNumbers(document, text);
    return [whole(readSensorScan(document, mode))];
  }
  return readUnknown(text, options, OTHER_JSON.find(([member]) => Object.hasOwn(document, member))?.[1]);
}

/** Reads JSON of an unknown format, if it contains certificates and keys as PEM. */
function readUnknown(text: string, options: BodyOptions, detail: string | undefined): readonly CheckedDocument[] {
  const tool = scannerOf(text);
  if (detail === undefined && text.includes('-----BEGIN ') && text.includes('-----END '))
    return [whole(readCredentialFile(Buffer.from(text), options))];
  throw refused(tool === undefined ? (detail ?? NOTHING_KNOWN) : `is ${notRead(tool)}`);
}

/** Rejects members that occur twice, because only one of two component lists would be read. A text with an outline has no repeated members. */
function refuseRepeated(text: string): void {
  const found = findAmbiguity(text, { roundsNumbers: true });
  if (found === undefined) return;
  const { pointer, name = '' } = found;
  throw refused(`has the member "${truncate(name, 64)}" twice`, pointer);
}

function isBom(bytes: Buffer, outline: Outline): boolean {
  const { start, end } = outline.get('bomFormat') ?? { start: 0, end: 0 };
  const given = bytes.toString('latin1', start, Math.min(end, start + 100)).trimEnd();
  return BOM_FORMATS.some((format) => given === `"${String(format)}"`);
}

/** Converts a draft that was read completely to a CheckedDocument. */
function whole(draft: Draft): CheckedDocument {
  return { ...draft, said: undefined, draft: () => draft };
}

function looksLikeJson(bytes: Buffer): boolean {
  return /^[\uFEFF\s]*[{[]/.test(isUtf16(bytes) ? utf16Start(bytes) : bytes.toString('utf8', 0, 64));
}

/** Returns the start of UTF-16 text in either byte order. A text with certificates may also be UTF-16. */
function utf16Start(bytes: Buffer): string {
  return bytes.toString('latin1', 0, 128).replaceAll(/\0|^\u00FF\u00FE|^\u00FE\u00FF/g, '');
}

const NOTHING_KNOWN =
  'is not CycloneDX JSON ("bomFormat": "CycloneDX"), SARIF 2.1.0 ("runs"), or a sensor scan ("assets")';
const COMPRESSED = 'is compressed: send it uncompressed';
const SQLITE =
  'is an SQLite database, such as the cert9.db of NSS or a key store: export its contents (pk12util -o, certutil -L -a)';
const XML = 'is XML: send CycloneDX as JSON, which its generators and cyclonedx-cli can write';
/** Common file formats that are not supported, by their first bytes in hexadecimal. */
const STRANGERS: readonly (readonly [start: string, detail: string])[] = [
  ['1f8b', COMPRESSED],
  ['28b52ffd', COMPRESSED],
  ['425a68', COMPRESSED],
  ['fd377a585a00', COMPRESSED],
  ['504b0304', 'is a ZIP archive: send its files one at a time'],
  ['53514c6974652066', SQLITE],
  ['3c3f786d6c', XML],
  ['3c626f6d', XML],
  ['efbbbf3c3f786d', XML],
  ['efbbbf3c626f6d', XML],
  ['fffe3c003f00', XML],
];
/** Common JSON formats that are not supported, by a member that identifies them. */
const OTHER_JSON: readonly (readonly [member: string, detail: string])[] = [
  ['spdxVersion', 'is SPDX, which has no cryptographic assets: send CycloneDX'],
  ['@context', 'is JSON-LD, such as SPDX 3, which is not supported: send CycloneDX'],
  ['kty', 'is a JSON Web Key, which is not supported: send the key as PEM'],
  ['keys', 'is a JSON Web Key Set, which is not supported: send the keys as PEM'],
];

function strangerBy(bytes: Buffer): string | undefined {
  const start = bytes.toString('hex', 0, 8);
  return STRANGERS.find(([prefix]) => start.startsWith(prefix))?.[1];
}

/** Returns the reason for rejecting a file. If the file is XML written by a known scanner, the reason names the scanner. */
function strangerIn(bytes: Buffer, detail: string): string {
  const tool = detail === XML ? scannerOf(bytes.toString('latin1', 0, 4096)) : undefined;
  return tool === undefined ? detail : `is ${notRead(tool)}`;
}

function refused(detail: string, pointer = ''): Problem {
  return new Problem('refused', 'document.format', `The body ${detail}.`, { errors: [{ pointer, detail }] });
}

/** Parses the lines one by one, because V8 aborts the process if an array has one element for each byte of a large body. */
function linesOf(text: string): unknown[] {
  const items: unknown[] = [];
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf('\n', start);
    const end = feed === -1 ? text.length : feed;
    const [line, index] = [text.slice(start, end), items.length];
    if (line.trim() !== '')
      items.push(parseExactJson(line, (member) => `/assets/${index}${member === '' ? '' : `/${member}`}`));
    start = end + 1;
  }
  return items;
}

/** HEAD_BYTES is the number of bytes in which to search for the scan ID. Sensors write the scan ID at the start. */
const HEAD_BYTES = 4096;
const SCAN_ID = '"scanId"';

/**
 * contentDigest returns the SHA-256 of a body's content. The `scanId` of a sensor scan is excluded, because each scan has a different `scanId`. Two scans with
 * the same findings therefore have the same digest, even if only one of the scans has a `scanId`.
 *
 * @param bytes body that was read without a fault
 */
export function contentDigest(bytes: Buffer): Buffer {
  const hash = createHash('sha256');
  const id = scanIdIn(bytes);
  if (id === undefined) return hash.update(bytes).digest();
  return hash.update(bytes.subarray(0, id.start)).update(bytes.subarray(id.end)).digest();
}

function scanIdIn(bytes: Buffer) {
  if (!bytes.subarray(0, HEAD_BYTES).includes(SCAN_ID) || isUtf16(bytes)) return undefined;
  const outline = outlineOf(bytes);
  return outline?.has('assets') === true && !outline.has('bomFormat') ? outline.get('scanId') : undefined;
}
