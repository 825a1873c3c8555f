import { Problem } from '../../../platform/errors/problem.js';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { EntityManager } from 'typeorm';

const LINK = /^urn:cdx:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/([1-9][0-9]{0,17})(?:#(.+))?$/;
const SERIAL = 'urn:uuid:';

/** BomLink is a link to a document or to one of its elements (CycloneDX, BOM-Link): `urn:cdx:<uuid>/<version>#<bom-ref>`. */
export interface BomLink {
  /** Serial number of the document, without `urn:uuid:`. */
  readonly uuid: string;
  readonly version: string;
  readonly ref?: string;
}

/**
 * parseBomLink parses a BOM-Link. @throws Problem 400 `bom-link.invalid` unless the UUID is in lowercase, the version is at least 1 and the bom-ref is
 * percent-encoded.
 */
export function parseBomLink(text: string): BomLink {
  const [, uuid, version, fragment] = LINK.exec(text) ?? [];
  const ref = decoded(fragment);
  if (uuid === undefined || version === undefined || (fragment !== undefined && ref === undefined)) throw invalid();
  return { uuid, version, ...(ref === undefined ? {} : { ref }) };
}

export function bomLinkOf(serialNumber: string, version: string | number, ref?: string): string {
  const fragment = ref === undefined ? '' : `#${encodeURIComponent(ref)}`;
  return `urn:cdx:${serialNumber.replace(SERIAL, '')}/${version}${fragment}`;
}

function decoded(fragment: string | undefined): string | undefined {
  try {
    return fragment === undefined ? undefined : decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function invalid(): Problem {
  const detail =
    'must be urn:cdx:<UUID in lowercase>/<version from 1>, followed by #<bom-ref, percent-encoded> for an element';
  return new Problem('malformed', 'bom-link.invalid', `link: ${detail}.`, { errors: [{ pointer: 'link', detail }] });
}

const compressed = promisify<Buffer, Buffer>(deflateRaw);
const expanded = (bytes: Buffer) =>
  promisify<Buffer, object, Buffer>(inflateRaw)(bytes, { maxOutputLength: MAX_REFS_BYTES });

/** MAX_REF is the maximum length of a stored bom-ref in characters. In practice, no BOM-Link refers to a longer bom-ref. */
const MAX_REF = 1000;
/** MAX_REFS is the maximum total length of a document's stored bom-refs in characters. BOM-Links cannot refer to bom-refs beyond this limit. */
const MAX_REFS = 32 * 1024 * 1024;
/** MAX_REFS_BYTES is the maximum size of a document's bom-refs as JSON, including IDs, quotes and escapes. */
const MAX_REFS_BYTES = 8 * MAX_REFS;

/** keptRefs returns the bom-refs that are stored and can be linked to. */
export function keptRefs(refs: readonly [ref: string, id: string][]): [ref: string, id: string][] {
  let left = MAX_REFS;
  return refs.filter(([ref]) => ref.length <= MAX_REF && (left -= ref.length) >= 0);
}

/** keepRefs stores the asset to which each bom-ref in a document refers. Documents with the same content share the stored bom-refs. */
export async function keepRefs(tx: EntityManager, said: Buffer, refs: [ref: string, id: string][]): Promise<void> {
  const known = (await tx.query('SELECT 1 FROM bom_link_refs WHERE said = $1', [said])) as unknown[];
  if (known.length > 0) return;
  const text = JSON.stringify(keptRefs(refs));
  await tx.query('INSERT INTO bom_link_refs (said, refs) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    said,
    await compressed(Buffer.from(text)),
  ]);
}

export async function readRefs(refs: Buffer): Promise<Map<string, string>> {
  return new Map(keptRefs(JSON.parse((await expanded(refs)).toString()) as [string, string][]));
}
