import { bomCheck } from '../cyclonedx/bom-schemas.js';
import { assetOf, linksOf, occurrencesOf } from '../cyclonedx/component-reader.js';
import { isMembers, type Members } from '../cyclonedx/json-values.js';
import { SchemaFaults } from '../cyclonedx/schema-faults.js';
import { Problem } from '../../platform/http/problem.js';
import type { CdxComponent, Draft, DraftAsset, DraftLink, DraftOccurrence } from './draft.js';
import type { Rejection } from './ingest-outcome.js';
import { withoutSecrets } from './secrets.js';

const MOST_SCAN_ID = 200;
const ITEM = new Set(['component', 'occurrence', 'dependsOn', 'provides']);
const SCAN = new Set(['scanId', 'source', 'assets']);

/** True for `{scanId?, source?, assets: […]}`. */
export function isSensorScan(document: Members): boolean {
  return Array.isArray(document['assets']) && document['bomFormat'] === undefined;
}

/**
 * Reads what sensors send: `{scanId?, source?, assets: [{component, occurrence?, dependsOn?, provides?}]}`, where `component` is a
 * CycloneDX 1.6 component. `dependsOn` and `provides` name bom-refs of the same scan. A bad item is refused by its
 * pointer, the others are taken.
 */
export function readSensorScan(document: Members): Draft {
  for (const name of Object.keys(document)) if (!SCAN.has(name)) refuse(`/${name.slice(0, 64)}`, 'unknown field');
  const { scanId, source, assets: items } = document;
  if (scanId !== undefined && (typeof scanId !== 'string' || scanId.length > MOST_SCAN_ID))
    refuse('/scanId', `must be a text of up to ${MOST_SCAN_ID} characters`);
  if (source !== undefined && (typeof source !== 'string' || source === '' || source.length > 500))
    refuse('/source', 'must be a text of 1 to 500 characters');
  const rejected: Rejection[] = [];
  const assets: DraftAsset[] = [];
  const links: DraftLink[] = [];
  const list = items as unknown[];
  list.forEach((item, index) => readItem(item, index, { rejected, assets, links }));
  const refs = new Set(assets.map(({ ref }) => ref));
  return {
    format: 'sensor scan',
    serialNumber: null,
    version: null,
    time: null,
    source: typeof source === 'string' ? withoutSecrets(source) : undefined,
    whole: false,
    assets,
    links: [...links, ...assets.flatMap((asset) => linksOf(asset))].filter(({ to }) => refs.has(to)),
    received: list.length,
    ignored: 0,
    rejected,
    repairs: [],
    warnings: [],
  };
}

function refuse(pointer: string, detail: string): never {
  throw new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

interface Found {
  readonly rejected: Rejection[];
  readonly assets: DraftAsset[];
  readonly links: DraftLink[];
}

function readItem(item: unknown, index: number, found: Found): void {
  const at = `/assets/${index}`;
  const reject = (pointer: string, detail: string) =>
    void found.rejected.push({ index, pointer, code: 'asset.invalid', detail });
  if (!isMembers(item)) return reject(at, 'must be of type object');
  const unknown = Object.keys(item).find((name) => !ITEM.has(name));
  if (unknown !== undefined) return reject(`${at}/${unknown.slice(0, 64)}`, 'unknown field');
  const fault = faultOf(item['component'], item['occurrence']);
  if (fault !== undefined) return reject(`${at}${fault.pointer}`, fault.detail);
  const component = item['component'] as CdxComponent;
  const given = component['bom-ref'];
  const ref = typeof given === 'string' ? given : ` ${index}`;
  const asset = assetOf(component, ref);
  asset.occurrences.push(...occurrenceOf(item['occurrence']));
  found.assets.push(asset);
  for (const kind of ['dependsOn', 'provides'] as const) {
    const targets = item[kind] ?? [];
    if (!Array.isArray(targets) || targets.some((to) => typeof to !== 'string'))
      return reject(`${at}/${kind}`, 'must be a list of bom-refs');
    for (const to of targets as string[]) found.links.push({ from: ref, to, kind });
  }
}

/** The component and its place are judged by the schema of CycloneDX 1.6. */
function faultOf(component: unknown, occurrence: unknown): { pointer: string; detail: string } | undefined {
  if (!isMembers(component)) return { pointer: '/component', detail: 'must be of type object' };
  const found = new SchemaFaults();
  const places = occurrence === undefined ? [] : Array.isArray(occurrence) ? (occurrence as unknown[]) : [occurrence];
  const evidence = { type: 'data', name: 'occurrence', evidence: { occurrences: places } };
  bomCheck('1.6')({ bomFormat: 'CycloneDX', specVersion: '1.6', components: [component, evidence] }, found);
  const [first] = [
    ...found.faults,
    ...found.duplicates.map(({ pointer }) => ({ pointer, detail: 'is in the list already' })),
  ];
  if (first === undefined) return undefined;
  const pointer = first.pointer
    .replace(/^\/components\/0/, '/component')
    .replace(/^\/components\/1\/evidence\/occurrences\/0/, '/occurrence')
    .replace(/^\/components\/1\/evidence\/occurrences/, '/occurrence');
  return { pointer, detail: first.detail };
}

function occurrenceOf(given: unknown): DraftOccurrence[] {
  if (given === undefined) return [];
  return occurrencesOf({ occurrences: Array.isArray(given) ? (given as unknown[]) : [given] });
}
