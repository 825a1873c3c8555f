import { type CdxComponent, keptMemberName } from '../model/document.js';
import { bomCheck } from './bom-schemas.js';
import { SchemaFaults } from './schema-faults.js';
import { truncate } from '../../platform/text/truncate.js';

const MAX_ROUNDS = 8;
type Place = Record<string | number, unknown>;

/**
 * Converts a component of a newer version to CycloneDX 1.6: a value that 1.6 does not list becomes `other` where that is valid, a member
 * that it does not know is removed, and both are kept in a property named after their place. Nothing is lost, and the result is valid.
 */
export function asVersion16(component: CdxComponent): CdxComponent {
  const { components: _nested, ...own } = component;
  const current = structuredClone(own);
  referAs16(current);
  const kept: { name: string; value: string }[] = [];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pointers = faultsOf(current);
    if (pointers.length === 0) break;
    for (const path of pointers) move(current, path, kept, round);
  }
  if (kept.length > 0) current.properties = [...(current.properties ?? []), ...kept];
  return current;
}

/** 1.7 lists what a certificate or a key refers to; 1.6 has a member for each. */
function referAs16({ cryptoProperties }: CdxComponent): void {
  const { certificateProperties: certificate, relatedCryptoMaterialProperties: material } = cryptoProperties ?? {};
  if (certificate !== undefined) {
    refer(certificate, 'signatureAlgorithmRef', 'algorithm');
    refer(certificate, 'subjectPublicKeyRef', 'publickey');
  }
  if (material !== undefined) refer(material, 'algorithmRef', 'algorithm');
}

/** Takes the first of its type; a member of 1.6 that the component has is not replaced. */
function refer(facts: Record<string, unknown>, member: string, type: string): void {
  const related = facts['relatedCryptographicAssets'];
  if (facts[member] !== undefined || !Array.isArray(related)) return;
  const first = (related as { type?: unknown; ref?: unknown }[]).find(
    (one) => typeof one.type === 'string' && one.type.replaceAll(/[-_ ]/g, '').toLowerCase() === type,
  );
  if (typeof first?.ref === 'string') facts[member] = first.ref;
}

function faultsOf(component: CdxComponent): string[][] {
  const found = new SchemaFaults();
  bomCheck('1.6')({ bomFormat: 'CycloneDX', specVersion: '1.6', components: [component] }, found);
  return [...found.faults, ...found.duplicates].map(({ pointer }) =>
    pointer
      .split('/')
      .slice(3)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~')),
  );
}

function move(component: CdxComponent, path: string[], kept: { name: string; value: string }[], round: number): void {
  // A fault that cannot be repaired in its place is removed with the member around it.
  const steps = path.slice(0, Math.max(1, path.length - Math.floor(round / 2)));
  const name = steps.at(-1);
  const parent = steps.slice(0, -1).reduce<unknown>((at, part) => (at as Place | undefined)?.[part], component);
  if (name === undefined || typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, name)) return;
  const place = parent as Place;
  kept.push({ name: truncate(keptMemberName(steps.join('.')), 200), value: JSON.stringify(place[name]) });
  if (round === 0 && typeof place[name] === 'string') place[name] = 'other';
  else if (Array.isArray(place)) place.splice(Number(name), 1);
  else delete place[name];
}
