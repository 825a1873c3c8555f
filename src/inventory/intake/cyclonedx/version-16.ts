import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { truncate } from '../../../platform/text/truncate.js';
import { ALGORITHM_FAMILY, type CdxComponent, type DraftLink, keptMemberName } from '../../model/document.js';
import { isMembers, type JsonMembers } from '../../model/json.js';
import { bomCheck } from './bom-schemas.js';
import { type ImpliedAlgorithms, type KeptMember, protocolAsVersion16 } from './protocol-members.js';
import { curveOf, registryCurve, registryFamily } from './registry-names.js';
import { SchemaFaults } from './schema-faults.js';
import { stepsOf } from '../../../platform/json/json-pointer.js';

const MAX_ROUNDS = 8;
type Place = Record<string | number, unknown>;

interface ConvertedComponent {
  readonly component: CdxComponent;
  /** References that 1.6 cannot express. */
  readonly links: readonly DraftLink[];
}

/**
 * asVersion16 converts a component of a newer version to CycloneDX 1.6. A value that 1.6 does not list becomes `other` where `other` is valid, and an unknown
 * member is removed. The original value or member is preserved in a property named after its path, so the conversion is lossless.
 *
 * @param implied receives the algorithms that the component names where 1.6 supports only references
 */
export function asVersion16(component: CdxComponent, implied: ImpliedAlgorithms): ConvertedComponent {
  const { components: _nested, ...own } = component;
  const current = structuredClone(own);
  const links: DraftLink[] = [];
  referAs16(current, links);
  const protocol = current.cryptoProperties?.protocolProperties;
  const ofProtocol = protocol === undefined ? [] : protocolAsVersion16(protocol, implied, links);
  const kept = [...ofProtocol, ...algorithmAs16(current)].map(({ path, value }) => ({
    name: keptMemberName(path),
    value: canonicalJson(value),
  }));
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pointers = faultsOf(current);
    if (pointers.length === 0) break;
    for (const path of pointers) move(current, path, kept, round);
  }
  if (kept.length > 0) current.properties = [...(current.properties ?? []), ...kept];
  return { component: current, links };
}

/** Converts the references of an asset. CycloneDX 1.7 has a list of references; 1.6 has members for some references, and all others become dependencies. */
function referAs16({ cryptoProperties }: CdxComponent, links: DraftLink[]): void {
  const { certificateProperties, relatedCryptoMaterialProperties, protocolProperties } = cryptoProperties ?? {};
  refer(certificateProperties, CERTIFICATE_MEMBERS, links);
  refer(relatedCryptoMaterialProperties, MATERIAL_MEMBERS, links);
  refer(protocolProperties, {}, links);
}

/** Members of 1.6, by reference type of 1.7. */
const CERTIFICATE_MEMBERS = { algorithm: 'signatureAlgorithmRef', publickey: 'subjectPublicKeyRef' };
const MATERIAL_MEMBERS = { algorithm: 'algorithmRef' };

/**
 * Moves references to the members of 1.6. The first reference of a type becomes the member, unless the component already has the member; all other references
 * become links.
 */
function refer(facts: JsonMembers | undefined, members: Readonly<Record<string, string>>, links: DraftLink[]): void {
  const related = facts?.['relatedCryptographicAssets'];
  if (facts === undefined || !Array.isArray(related)) return;
  delete facts['relatedCryptographicAssets'];
  for (const { type, ref } of related.filter(isMembers)) {
    if (typeof ref !== 'string' || ref === '') continue;
    const member = typeof type === 'string' ? members[type.replaceAll(/[-_ ]/g, '').toLowerCase()] : undefined;
    if (member !== undefined && facts[member] === undefined) facts[member] = ref;
    else if (member === undefined || facts[member] !== ref) links.push({ to: ref, kind: 'dependsOn' });
  }
}

/** Removes a family or curve that the rest of the component already implies. */
function algorithmAs16(component: CdxComponent): KeptMember[] {
  const properties = component.cryptoProperties?.algorithmProperties;
  if (properties === undefined) return [];
  const { ellipticCurve, algorithmFamily } = properties;
  if (typeof ellipticCurve === 'string') {
    properties.curve ??= curveOf(ellipticCurve);
    if (registryCurve(properties.curve) === ellipticCurve) delete properties['ellipticCurve'];
  }
  if (algorithmFamily === undefined) return [];
  delete properties['algorithmFamily'];
  if (registryFamily(component) === algorithmFamily) return [];
  return [{ path: ALGORITHM_FAMILY, value: algorithmFamily }];
}

/** faultsOf returns the paths in a component that are invalid in a version of CycloneDX. Each path is a list of steps. */
export function faultsOf(component: CdxComponent, version: '1.6' | '1.7' = '1.6'): string[][] {
  const found = new SchemaFaults();
  bomCheck(version)({ bomFormat: 'CycloneDX', specVersion: version, components: [component] }, found);
  return [...found.faults, ...found.duplicates].map(({ pointer }) => stepsOf(pointer).slice(2));
}

function move(component: CdxComponent, path: string[], kept: { name: string; value: string }[], round: number): void {
  // A fault that cannot be repaired in place is removed together with the enclosing member.
  const steps = path.slice(0, Math.max(1, path.length - Math.floor(round / 2)));
  const name = steps.at(-1);
  const parent = steps.slice(0, -1).reduce<unknown>((at, part) => (at as Place | undefined)?.[part], component);
  if (name === undefined || typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, name)) return;
  const place = parent as Place;
  const property = truncate(keptMemberName(steps.join('.')), 200);
  // If the value is `other`, an earlier round may have set it and preserved the original value.
  if (place[name] !== 'other' || !kept.some((one) => one.name === property))
    kept.push({ name: property, value: canonicalJson(place[name]) });
  if (round === 0 && typeof place[name] === 'string') place[name] = 'other';
  else if (Array.isArray(place)) place.splice(Number(name), 1);
  else delete place[name];
}
