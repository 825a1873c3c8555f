import { bomCheck } from '../cyclonedx/bom-schemas.js';
import { assetOf, occurrencesOf } from '../cyclonedx/component-reader.js';
import { isMembers, type JsonMembers } from '../../model/json.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import { repairTexts } from '../cyclonedx/repaired-texts.js';
import { SchemaFaults } from '../cyclonedx/schema-faults.js';
import { Problem } from '../../../platform/errors/problem.js';
import type {
  CdxComponent,
  Draft,
  DraftAsset,
  DraftLink,
  DraftOccurrence,
  Rejection,
  Remark,
} from '../../model/document.js';
import { addRejection, addRemark } from '../../model/document-remarks.js';
import { withoutSecretMembers } from '../../model/secrets.js';
import { truncate } from '../../../platform/text/truncate.js';
import { fromBrokenBase64 } from '../../../formats/encoding/base64.js';
import { readX509Certificate } from '../key-files/x509-certificate.js';
import { CredentialComponents } from '../key-files/credential-components.js';
import { bytesOf, pemBlocks } from '../../../formats/encoding/pem-blocks.js';
import { describeSpki } from '../key-files/private-key-facts.js';
import { readSshPublicKey, sshKeyLine } from '../key-files/ssh-public-key.js';

/** SENSOR_SCAN is the format name in documents and responses. */
export const SENSOR_SCAN = 'sensor scan';
const MAX_SCAN_ID = 200;
const CREDENTIALS = ['certificate', 'publicKey'] as const;
const EDGES = ['dependsOn', 'provides'] as const;
const NO_COMPONENT = { type: 'data', name: 'none' };
const ITEM = new Set(['component', 'certificate', 'publicKey', 'ref', 'occurrence', 'dependsOn', 'provides']);
const SCAN = new Set(['scanId', 'source', 'complete', 'assets']);

/** isSensorScan reports whether a document has the structure `{scanId?, source?, assets: […]}`. */
export function isSensorScan(document: JsonMembers): boolean {
  return Array.isArray(document['assets']) && document['bomFormat'] === undefined;
}

/**
 * readSensorScan reads the sensor format: `{scanId?, source?, complete?, assets: [{component | certificate | publicKey, ref?, occurrence?, dependsOn?,
 * provides?}]}`. `component` is a CycloneDX 1.6 component, `certificate` an X.509 certificate in PEM or base64 DER, and `publicKey` a public key in PEM or as a
 * line in authorized_keys format. `dependsOn` and `provides` contain the bom-ref or `ref` of other items in the same scan. With `complete`, assets of the
 * source that the scan does not contain become missing. An invalid item is rejected individually, with a pointer to the item. A scan with more than
 * MAX_REJECTED invalid items is rejected as a whole.
 */
export function readSensorScan(document: JsonMembers, mode: Mode): Draft {
  for (const name of Object.keys(document)) if (!SCAN.has(name)) refuse(`/${truncate(name, 64)}`, 'unknown field');
  const { scanId, source, complete = false, assets: items } = document;
  if (scanId !== undefined && (typeof scanId !== 'string' || scanId.length > MAX_SCAN_ID))
    refuse('/scanId', `must be a string of at most ${MAX_SCAN_ID} characters`);
  if (source !== undefined && (typeof source !== 'string' || source === '' || source.length > 500))
    refuse('/source', 'must be a string of 1 to 500 characters');
  if (typeof complete !== 'boolean') return refuse('/complete', 'must be true or false');
  const rejected: Rejection[] = [];
  const assets: DraftAsset[] = [];
  const namedLinks: NamedLink[] = [];
  const credentials = new FoundCredentials();
  const list = items as unknown[];
  const repairs: Remark[] = [];
  list.forEach((item, index) => readItem(item, index, { rejected, assets, namedLinks, credentials, mode, repairs }));
  // An item may refer to a later item.
  for (const { from, to, kind } of namedLinks) from.links.push({ to: credentials.refs.get(to) ?? to, kind });
  assets.push(...credentials.found.assets.values());
  return {
    format: SENSOR_SCAN,
    serialNumber: null,
    version: null,
    time: null,
    source: typeof source === 'string' ? withoutSecretMembers(source) : undefined,
    whole: complete,
    assets: () => assets,
    received: assets.length + rejected.length,
    ignored: 0,
    rejected,
    repairs,
    warnings: [],
  };
}

function refuse(pointer: string, detail: string): never {
  throw new Problem('malformed', 'request.invalid', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

/** Link from an asset. `to` may be a `ref` chosen by the sensor. */
interface NamedLink extends DraftLink {
  readonly from: DraftAsset;
}

interface Found {
  readonly rejected: Rejection[];
  readonly assets: DraftAsset[];
  readonly namedLinks: NamedLink[];
  readonly credentials: FoundCredentials;
  readonly mode: Mode;
  readonly repairs: Remark[];
}

function readItem(item: unknown, index: number, found: Found): void {
  const at = `/assets/${index}`;
  const reject = (pointer: string, detail: string) =>
    addRejection(found.rejected, { index, pointer, code: 'asset.invalid', detail });
  if (!isMembers(item)) return reject(at, 'must be of type object');
  const fault = itemFault(item, at, found);
  if (fault !== undefined) return reject(`${at}${fault.pointer}`, fault.detail);
  const credential = credentialIn(item);
  const from = credential === undefined ? componentItem(item, index, found) : credentialItem(item, credential, found);
  if (from === undefined) return reject(`${at}/${credential}`, 'cannot be parsed');
  for (const kind of EDGES) for (const to of (item[kind] ?? []) as string[]) found.namedLinks.push({ from, to, kind });
}

type Fault = { readonly pointer: string; readonly detail: string } | undefined;

function itemFault(item: JsonMembers, at: string, found: Found): Fault {
  const unknown = Object.keys(item).find((name) => !ITEM.has(name));
  if (unknown !== undefined) return { pointer: `/${truncate(unknown, 64)}`, detail: 'unknown field' };
  const credential = credentialIn(item);
  if (credential !== undefined && item['component'] !== undefined)
    return { pointer: '/component', detail: `cannot be combined with ${credential}` };
  for (const kind of EDGES) {
    const targets = item[kind] ?? [];
    if (!Array.isArray(targets) || targets.some((to) => typeof to !== 'string'))
      return { pointer: `/${kind}`, detail: 'must be a list of bom-refs' };
  }
  const component = credential === undefined ? item['component'] : NO_COMPONENT;
  const fault = faultOf(component, item['occurrence']);
  const repairs: Remark[] = [];
  if (fault === undefined || found.mode === 'strict' || !repairTexts(item, 0, [fault], repairs)) return fault;
  for (const repair of repairs) addRemark(found.repairs, { ...repair, pointer: `${at}${repair.pointer}` });
  return itemFault(item, at, found);
}

function credentialIn(item: JsonMembers): (typeof CREDENTIALS)[number] | undefined {
  return CREDENTIALS.find((name) => item[name] !== undefined);
}

function componentItem(item: JsonMembers, index: number, { assets }: Found): DraftAsset {
  const component = item['component'] as CdxComponent;
  const given = component['bom-ref'];
  const asset = assetOf(component, typeof given === 'string' ? given : ` ${index}`);
  asset.occurrences.push(...occurrenceOf(item['occurrence']));
  assets.push(asset);
  return asset;
}

function credentialItem(
  item: JsonMembers,
  name: (typeof CREDENTIALS)[number],
  { credentials }: Found,
): DraftAsset | undefined {
  const text = item[name];
  const made = typeof text === 'string' ? credentials.add(name, text, occurrenceOf(item['occurrence'])) : undefined;
  if (made === undefined) return undefined;
  if (typeof item['ref'] === 'string') credentials.refs.set(item['ref'], made);
  return credentials.found.assets.get(made);
}

/** Returns the first fault of a component or its locations under the CycloneDX 1.6 schema. */
function faultOf(component: unknown, occurrence: unknown): Fault {
  if (!isMembers(component)) return { pointer: '/component', detail: 'must be of type object' };
  const found = new SchemaFaults();
  const places = occurrence === undefined ? [] : Array.isArray(occurrence) ? (occurrence as unknown[]) : [occurrence];
  const evidence = { type: 'data', name: 'occurrence', evidence: { occurrences: places } };
  bomCheck('1.6')({ bomFormat: 'CycloneDX', specVersion: '1.6', components: [component, evidence] }, found);
  const [first] = [
    ...found.faults,
    ...found.duplicates.map(({ pointer }) => ({ pointer, detail: 'is already in the list' })),
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

/** FoundCredentials collects certificates and public keys that a sensor sends as individual items in their native formats. */
class FoundCredentials {
  readonly found = new CredentialComponents();
  /** Maps each `ref` in the scan to the ref of the item in the draft. */
  readonly refs = new Map<string, string>();

  /** Adds a certificate or public key. Returns the ref of the asset, or undefined if the text cannot be read. */
  add(kind: 'certificate' | 'publicKey', text: string, at: readonly DraftOccurrence[]): string | undefined {
    try {
      return kind === 'certificate'
        ? this.found.certificate(readX509Certificate(derOf(text)), at)
        : this.publicKey(text, at);
    } catch {
      return undefined;
    }
  }

  private publicKey(text: string, at: readonly DraftOccurrence[]): string {
    const line = sshKeyLine(text.trim());
    if (line !== undefined) return this.found.publicKey(readSshPublicKey(line.blob, line.comment), at);
    const { algorithm, fingerprint } = describeSpki(derOf(text));
    const name = `public key ${fingerprint.slice(0, 16)}`;
    return this.found.publicKey({ name, fingerprint, algorithm, format: 'X.509' }, at);
  }
}

function derOf(text: string): Buffer {
  const [block] = pemBlocks(text);
  return block === undefined ? (fromBrokenBase64(text) ?? Buffer.alloc(0)) : bytesOf(block);
}
