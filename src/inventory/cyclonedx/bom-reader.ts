import type { CheckedDocument } from '../ingest/draft.js';
import type { Remark } from '../ingest/ingest-outcome.js';
import { Problem } from '../../platform/http/problem.js';
import { withoutSecrets } from '../ingest/secrets.js';
import { bomCheck, SPEC_VERSIONS, type SpecVersion } from './bom-schemas.js';
import type { BomText } from './bom-text.js';
import { type Bom, connected } from './connected-components.js';
import { isOldCbom, oldCbomAsVersion16 } from './old-cbom.js';
import { SchemaFaults } from './schema-faults.js';

export type Mode = 'strict' | 'repair';

/**
 * Reads a CycloneDX document of version 1.4 to 1.7, or of the draft 1.4-cbom-1.0. Its lists are read when the draft is asked for:
 * what a known document says need not be read again.
 *
 * @throws Problem 422 `document.version`, or `document.invalid` with a pointer to each fault; so does the draft. Repeated list items and
 * an upper-case serial number are put right in repair mode, since nothing is lost by it; everything else is for the sender to mend.
 */
export function readBom(text: BomText, mode: Mode): CheckedDocument {
  const repairs: Remark[] = [];
  const outer = goodHead(text);
  const bom = outer ?? checked(text.whole(), mode, repairs);
  const head = {
    format: `CycloneDX ${bom.specVersion}`,
    serialNumber: bom.serialNumber ?? null,
    version: bom.version ?? (bom.serialNumber === undefined ? null : 1),
    time: bom.metadata?.timestamp ?? null,
    source: sourceOf(bom),
    whole: true,
  };
  const draft = () => {
    const warnings: Remark[] = [];
    const all = outer === undefined ? bom : checked(text.whole(), mode, repairs);
    return { ...head, ...connected(all, warnings), rejected: [], repairs, warnings };
  };
  return { ...head, said: text.said(bom), repairs: outer === undefined ? repairs : undefined, draft };
}

/** The document without its lists, when nothing is wrong with that. */
function goodHead(text: BomText): Bom | undefined {
  const head = text.head();
  const version = SPEC_VERSIONS.find((known) => known === head?.['specVersion']);
  if (head === undefined || version === undefined) return undefined;
  return judge(head, version).count === 0 ? (head as unknown as Bom) : undefined;
}

function checked(document: Record<string, unknown>, mode: Mode, repairs: Remark[]): Bom {
  if (isOldCbom(document)) return oldCbomAsVersion16(document) as unknown as Bom;
  const version = SPEC_VERSIONS.find((known) => known === document['specVersion']);
  if (version === undefined) {
    const detail = `must be one of ${SPEC_VERSIONS.join(', ')} or 1.4-cbom-1.0`;
    throw new Problem('refused', 'document.version', `This version of CycloneDX is not read: specVersion ${detail}.`, {
      errors: [{ pointer: '/specVersion', detail }],
    });
  }
  if (mode === 'repair') lowerSerialNumber(document, repairs);
  let found = judge(document, version);
  if (mode === 'repair' && found.duplicates.length > 0) {
    removeDuplicates(found, repairs);
    found = judge(document, version);
  }
  if (found.count > 0) refuse(found);
  return document as unknown as Bom;
}

function judge(document: unknown, version: SpecVersion): SchemaFaults {
  const found = new SchemaFaults();
  bomCheck(version)(document, found);
  return found;
}

function refuse(found: SchemaFaults): never {
  const repeated = found.duplicates.map(({ pointer }) => ({ pointer, detail: 'is in the list already' }));
  const errors = [...found.faults, ...repeated].slice(0, 100);
  const first = errors[0];
  const where = first === undefined ? '' : ` ${first.pointer}: ${first.detail}.`;
  throw new Problem(
    'refused',
    'document.invalid',
    `The document is not valid CycloneDX (${found.count} faults).${where}`,
    {
      errors,
    },
  );
}

function removeDuplicates(found: SchemaFaults, repairs: Remark[]): void {
  const lists = new Map<unknown[], Set<number>>();
  for (const { list, index, pointer } of found.duplicates) {
    const indexes = lists.get(list) ?? new Set();
    lists.set(list, indexes.add(index));
    if (repairs.length < 1000)
      repairs.push({ pointer, code: 'duplicate.removed', detail: 'the same item is in the list already' });
  }
  for (const [list, indexes] of lists) {
    const kept = list.filter((_, index) => !indexes.has(index));
    list.length = 0;
    for (const item of kept) list.push(item);
  }
}

function lowerSerialNumber(document: Record<string, unknown>, repairs: Remark[]): void {
  const serial = document['serialNumber'];
  if (typeof serial !== 'string' || !/^urn:uuid:[0-9a-f-]{36}$/i.test(serial) || serial === serial.toLowerCase())
    return;
  document['serialNumber'] = serial.toLowerCase();
  repairs.push({
    pointer: '/serialNumber',
    code: 'serial-number.lowered',
    detail: 'hexadecimal digits must be lower-case',
  });
}

/** What the document describes: the repository, else the component, else the series that its serial number stands for. */
function sourceOf({ metadata, serialNumber }: Bom): string | undefined {
  const property = (...names: string[]) => metadata?.properties?.find(({ name }) => names.includes(name))?.value;
  const repository = property('gitUrl', 'git-url');
  if (repository !== undefined && repository !== '') return withoutSecrets(repository).replace(/(?:\.git)?\/?$/, '');
  const { purl, group, name } = metadata?.component ?? {};
  const component = purl ?? [group, name].filter((part) => part !== undefined).join('/');
  return component === '' ? serialNumber : withoutSecrets(component);
}
