import { Problem } from '../../platform/errors/problem.js';

const LINK = /^urn:cdx:([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\/([1-9][0-9]{0,17})(?:#(.+))?$/;
const SERIAL = 'urn:uuid:';

/** A link to a document, or to an element of it (CycloneDX, BOM-Link): `urn:cdx:<uuid>/<version>#<bom-ref>`. */
export interface BomLink {
  /** Of the document, without `urn:uuid:`. */
  readonly uuid: string;
  readonly version: string;
  readonly ref?: string;
}

/** @throws Problem 400 `bom-link.invalid`: the UUID is in lower case, the version at least 1, the bom-ref percent-encoded. */
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
    'must be urn:cdx:<UUID in lower case>/<version from 1>, and #<bom-ref, percent-encoded> for an element';
  return new Problem('malformed', 'bom-link.invalid', `link: ${detail}.`, { errors: [{ pointer: 'link', detail }] });
}
