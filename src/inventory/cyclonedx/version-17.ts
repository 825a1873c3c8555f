import { type CdxComponent, keptMemberName } from '../model/document.js';
import { isMembers, type JsonMembers } from '../model/json.js';
import { withReferences } from './protocol-members.js';
import { registryCurve, registryFamily } from './registry-names.js';

const KEPT = keptMemberName('');
const TRANSFORMS = 'cryptoProperties.protocolProperties.ikev2TransformTypes.';

/**
 * Converts a component of the inventory, which is one of CycloneDX 1.6, to 1.7, in place: members that were kept in properties go back to
 * where 1.7 has them, references have their new form, and algorithms their names of the registry. The inverse of `asVersion16`.
 */
export function asVersion17(component: CdxComponent): CdxComponent {
  const crypto = component.cryptoProperties;
  if (crypto?.algorithmProperties !== undefined) nameAlgorithm(component, crypto.algorithmProperties);
  restore(component);
  relate(crypto?.certificateProperties, { signatureAlgorithmRef: 'algorithm', subjectPublicKeyRef: 'publicKey' });
  relate(crypto?.relatedCryptoMaterialProperties, { algorithmRef: 'algorithm' });
  return component;
}

function nameAlgorithm(component: CdxComponent, properties: JsonMembers): void {
  const family = registryFamily(component);
  if (family !== undefined) properties['algorithmFamily'] = family;
  const curve = registryCurve(properties['curve']);
  if (curve === undefined) return;
  properties['ellipticCurve'] = curve;
  // Another name of the curve than that of the registry is kept beside it.
  if (curve.endsWith(`/${String(properties['curve'])}`)) delete properties['curve'];
}

/** What `asVersion16` has kept. A property that does not fit stays a property. */
function restore(component: CdxComponent): void {
  const { properties } = component;
  if (properties === undefined) return;
  const left = properties.filter(({ name, value }) => !name.startsWith(KEPT) || !restoreMember(component, name, value));
  if (left.length === 0) delete component.properties;
  else component.properties = left;
}

/** Removed by `asVersion16` from lists: where they were in them is not known any more. */
const LIST_ITEM = /\.\d+$/;

function restoreMember(component: CdxComponent, name: string, text: string | undefined): boolean {
  const path = name.slice(KEPT.length);
  const value = parsed(text);
  if (value === undefined || LIST_ITEM.test(path)) return false;
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const parent = steps.reduce<unknown>(
    (at, step) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as JsonMembers)[step] : undefined,
    component,
  );
  if (!isMembers(parent)) return false;
  parent[last] = path.startsWith(TRANSFORMS) ? withReferences(value, parent[last]) : value;
  return true;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Members of 1.6 that 1.7 has in one list, by the types of that. */
function relate(facts: JsonMembers | undefined, types: Readonly<Record<string, string>>): void {
  if (facts === undefined) return;
  const related = Object.entries(types).flatMap(([member, type]) => {
    const ref = facts[member];
    delete facts[member];
    return typeof ref === 'string' ? [{ type, ref }] : [];
  });
  if (related.length > 0) facts['relatedCryptographicAssets'] = related;
}
