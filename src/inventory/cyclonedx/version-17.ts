import { type CdxComponent, keptMemberName } from '../model/document.js';
import { isMembers, type JsonMembers } from '../model/json.js';
import { faultsOf } from './version-16.js';
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

/** Members of a component that 1.6 does not have, or has with fewer values than 1.7. */
const RESTORED = new Set(['cryptoProperties', 'isExternal', 'patentAssertions', 'versionRange']);

/**
 * Restores a member that `asVersion16` kept in a property. Anyone can write such a property, so a member is restored only if `asVersion16` can have removed it:
 * 1.6 does not accept the member at this path, and 1.7 does. Any other member would change the facts that the inventory states about the asset.
 *
 * @returns false if the property stays a property
 */
function restoreMember(component: CdxComponent, name: string, text: string | undefined): boolean {
  const path = name.slice(KEPT.length);
  const value = parsed(text);
  const steps = path.split('.');
  if (value === undefined || LIST_ITEM.test(path) || !RESTORED.has(steps[0] ?? '')) return false;
  if (path.startsWith(TRANSFORMS)) return put(component, steps, (before) => withReferences(value, before));
  const tried = structuredClone(component);
  if (!put(tried, steps, () => value)) return false;
  const isAt = (fault: readonly string[]) =>
    steps.every((step, index) => fault[index] === undefined || fault[index] === step);
  if (!faultsOf(tried).some(isAt) || faultsOf(tried, '1.7').some(isAt)) return false;
  return put(component, steps, () => value);
}

/** Sets a member of an existing object. @returns false if the object does not exist */
function put(component: CdxComponent, steps: readonly string[], value: (before: unknown) => unknown): boolean {
  const last = steps.at(-1) ?? '';
  const parent = steps
    .slice(0, -1)
    .reduce<unknown>(
      (at, step) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, step) ? (at as JsonMembers)[step] : undefined,
      component,
    );
  if (!isMembers(parent)) return false;
  parent[last] = value(parent[last]);
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
