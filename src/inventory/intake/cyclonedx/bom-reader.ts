import type { CheckedDocument, Draft, DraftHead, Remark, CdxComponent } from '../../model/document.js';
import { DraftRefs } from '../../model/draft-refs.js';
import { type Fault, Problem } from '../../../platform/errors/problem.js';
import { stepsOf } from '../../../platform/json/json-pointer.js';
import { truncate } from '../../../platform/text/truncate.js';
import { isMembers } from '../../model/json.js';
import { withoutSecretMembers } from '../../model/secrets.js';
import { BomLists, type Mode, removeRepeated, reportRepeatedNames } from './bom-lists.js';
import { bomCheck, SPEC_VERSIONS, type SpecVersion } from './bom-schemas.js';
import { type BomText, LISTS } from './bom-text.js';
import { assetsOfBom, type Bom, type Dependency } from './connected-components.js';
import { isOldCbom, oldCbomAsVersion16 } from './old-cbom.js';
import { repairTexts } from './repaired-texts.js';
import { SchemaFaults } from './schema-faults.js';

/**
 * readBom reads a CycloneDX document of version 1.4 to 1.7, or of the draft 1.4-cbom-1.0. The lists are read a few items at a time while the assets are
 * iterated. A document with known content therefore need not be read, and items are released before the next items are read.
 *
 * @throws Problem 422 `document.version`, or `document.invalid` with a pointer to each fault. Faults in lists are thrown at the end of the iteration. In
 * repair mode, repeated list items and names, an uppercase serial number and incomplete times are repaired with a remark; other faults reject the document.
 */
export function readBom(text: BomText, mode: Mode): CheckedDocument {
  const head = text.head();
  if (isOldCbom(head)) return readOldCbom(text);
  const version = versionOf(head);
  const repairs: Remark[] = [];
  acceptTemplates(head['services']);
  const found = judge(head, version, mode, repairs);
  const repeated = text.repeatedInHead();
  if (repeated !== undefined) reportRepeatedNames([repeated], mode, found, repairs);
  const lists = new BomLists(text, version, mode, found, repairs);
  if (found.count > 0) {
    for (const list of LISTS) for (const _ of lists.items(list, new DraftRefs()));
    refuse(found);
  }
  const bom = head as unknown as Bom;
  const parts = {
    described: bom.metadata?.component,
    isNew: version === '1.7',
    components: (refs: DraftRefs) => lists.items<CdxComponent>('components', refs),
    *dependencies(refs: DraftRefs) {
      yield* lists.items<Dependency>('dependencies', refs);
      // All items have been checked at this point.
      if (found.count > 0) refuse(found);
    },
  };
  const described = headOf(bom);
  const draft = () => {
    const made: Draft = {
      ...described,
      ...EMPTY,
      repairs,
      warnings: [],
      assets: (refs) => assetsOfBom(parts, refs, made),
    };
    return made;
  };
  return { ...described, said: text.said(bom), repairs: [...repairs], draft };
}

/** Reads a document in the draft CBOM format. The document is not validated against a schema, because existing documents rarely conform to the draft. */
function readOldCbom(text: BomText): CheckedDocument {
  const bom = oldCbomAsVersion16(text.whole()) as unknown as Bom & {
    components: CdxComponent[];
    dependencies: Dependency[];
  };
  const parts = {
    described: bom.metadata?.component,
    isNew: true,
    components: () => bom.components,
    dependencies: () => bom.dependencies,
  };
  const described = headOf(bom);
  const draft: Draft = {
    ...described,
    ...EMPTY,
    repairs: [],
    warnings: [],
    assets: (refs) => assetsOfBom(parts, refs, draft),
  };
  return { ...described, said: text.said(bom), repairs: [], draft: () => draft };
}

const EMPTY = { received: 0, ignored: 0, rejected: [] };

function headOf(bom: Bom): DraftHead {
  return {
    format: `CycloneDX ${bom.specVersion}`,
    serialNumber: bom.serialNumber ?? null,
    version: bom.version ?? (bom.serialNumber === undefined ? null : 1),
    time: bom.metadata?.timestamp ?? null,
    source: sourceOf(bom),
    whole: true,
  };
}

function versionOf(document: Record<string, unknown>): SpecVersion {
  const stated = document['specVersion'];
  const version = SPEC_VERSIONS.find((known) => known === stated || known === String(stated));
  if (version !== undefined) return version;
  const detail = `must be one of ${SPEC_VERSIONS.join(', ')} or 1.4-cbom-1.0`;
  throw new Problem('refused', 'document.version', `This CycloneDX version is not supported: specVersion ${detail}.`, {
    errors: [{ pointer: '/specVersion', detail }],
  });
}

/** Returns the faults outside of the lists that could not be repaired. */
function judge(head: Record<string, unknown>, version: SpecVersion, mode: Mode, repairs: Remark[]): SchemaFaults {
  if (mode === 'repair') lowerSerialNumber(head, repairs);
  let found = faultsOf(head, version);
  if (mode === 'strict') return found;
  while (repairTexts(head, 0, found.faults, repairs) || leaveOut(head, found.faults, repairs))
    found = faultsOf(head, version);
  if (found.duplicates.length === 0) return found;
  removeRepeated(found.duplicates, repairs);
  return faultsOf(head, version);
}

/** Members of a document and its metadata that are not read. */
const UNREAD = new Set(
  'annotations citations compositions declarations definitions externalReferences formulation services signature vulnerabilities'.split(
    ' ',
  ),
);
const UNREAD_METADATA = new Set('authors lifecycles manufacture manufacturer supplier tools'.split(' '));

/** Removes invalid members that are not read. Returns true if a member was removed. */
function leaveOut(head: Record<string, unknown>, faults: readonly Fault[], repairs: Remark[]): boolean {
  const before = repairs.length;
  for (const { pointer, detail } of faults) {
    const [first = '', second = ''] = stepsOf(pointer);
    const { metadata } = head;
    const isOfMetadata = first === 'metadata' && isMembers(metadata) && UNREAD_METADATA.has(second);
    const [holder, member] = isOfMetadata ? [metadata, second] : [head, first];
    if (holder[member] === undefined || !(isOfMetadata || UNREAD.has(member))) continue;
    Reflect.deleteProperty(holder, member);
    repairs.push({
      pointer: isOfMetadata ? `/metadata/${member}` : `/${member}`,
      code: 'part.left-out',
      detail: `is invalid and was ignored: ${truncate(pointer, 200)} ${detail}`,
    });
  }
  return repairs.length > before;
}

/**
 * Encodes the braces in service endpoints. Some generators write endpoints as URI templates (RFC 6570), although an IRI reference cannot contain braces (RFC
 * 3987). Services are otherwise not read.
 */
function acceptTemplates(services: unknown): void {
  const stack = [services];
  for (let list = stack.pop(); list !== undefined; list = stack.pop())
    for (const service of Array.isArray(list) ? list.filter(isMembers) : []) {
      const { endpoints, services: nested } = service;
      if (nested !== undefined) stack.push(nested);
      if (Array.isArray(endpoints))
        service['endpoints'] = (endpoints as unknown[]).map((endpoint) =>
          typeof endpoint === 'string' ? endpoint.replaceAll('{', '%7B').replaceAll('}', '%7D') : endpoint,
        );
    }
}

function faultsOf(document: unknown, version: SpecVersion): SchemaFaults {
  const found = new SchemaFaults();
  bomCheck(version)(document, found);
  return found;
}

function refuse(found: SchemaFaults): never {
  const repeated = found.duplicates.map(({ pointer }) => ({ pointer, detail: 'is already in the list' }));
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

function lowerSerialNumber(document: Record<string, unknown>, repairs: Remark[]): void {
  const serial = document['serialNumber'];
  if (typeof serial !== 'string' || !/^urn:uuid:[0-9a-f-]{36}$/i.test(serial) || serial === serial.toLowerCase())
    return;
  document['serialNumber'] = serial.toLowerCase();
  repairs.push({
    pointer: '/serialNumber',
    code: 'serial-number.lowered',
    detail: 'hexadecimal digits must be lowercase',
  });
}

/** Returns the name of the source: the repository, otherwise the described component, otherwise the document's serial number. */
function sourceOf({ metadata, serialNumber }: Bom): string | undefined {
  const property = (...names: string[]) => metadata?.properties?.find(({ name }) => names.includes(name))?.value;
  const repository = property('gitUrl', 'git-url');
  if (repository !== undefined && repository !== '')
    return withoutSecretMembers(repository).replace(/(?:\.git)?\/?$/, '');
  const { purl, group, name } = metadata?.component ?? {};
  const component = purl ?? [group, name].filter((part) => part !== undefined).join('/');
  return component === '' ? serialNumber : withoutSecretMembers(component);
}
