import { type CdxComponent, keptMemberName } from '../../model/document.js';
import { isMembers, type JsonMembers } from '../../model/json.js';
import { faultsOf } from './version-16.js';
import { withReferences } from './protocol-members.js';
import { registryCurve, registryFamily } from './registry-names.js';

const KEPT = keptMemberName('');
const TRANSFORMS = 'cryptoProperties.protocolProperties.ikev2TransformTypes.';

/**
 * asVersion17 converts a component of the inventory from CycloneDX 1.6 to 1.7, in place. Members preserved in properties become members again, references are
 * converted, and algorithms get their registry names. The function is the inverse of `asVersion16`.
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
  // A curve name that differs from the registry name is also kept.
  if (curve.endsWith(`/${String(properties['curve'])}`)) delete properties['curve'];
}

/**
 * MAX_RESTORED is the maximum number of preserved members that are restored in a component. `asVersion16` preserves only a few members, but a document can
 * contain thousands of properties that look like preserved members, and each of these properties requires two schema checks.
 */
const MAX_RESTORED = 50;

/** Restores the members that `asVersion16` preserved. If a member would be invalid, its property is kept. */
function restore(component: CdxComponent): void {
  const { properties } = component;
  if (properties === undefined) return;
  const kept = properties.filter(isKept).slice(0, MAX_RESTORED);
  const restored = new Set(kept.filter(({ name, value }) => restoreMember(component, name, value)));
  const left = properties.filter((property) => !restored.has(property));
  if (left.length === 0) delete component.properties;
  else component.properties = left;
}

/** Reports whether a property preserves a member. Drafts of CycloneDX have no schema, so a stored property can be of any type. */
function isKept(property: unknown): boolean {
  return isMembers(property) && typeof property['name'] === 'string' && property['name'].startsWith(KEPT);
}

/** Matches the paths of items that `asVersion16` removed from lists. The position of a removed item is unknown. */
const LIST_ITEM = /\.\d+$/;

/** Members that 1.6 does not define, or for which 1.6 allows fewer values than 1.7. */
const RESTORED = new Set(['cryptoProperties', 'isExternal', 'patentAssertions', 'versionRange']);

/** Members whose validity is interdependent in the schemas of 1.6 and 1.7. */
const CHECKED = new Set(['type', 'name', 'version', ...RESTORED]);

/**
 * Restores a member that `asVersion16` preserved in a property. Any document can contain a property in this format, so a member is restored only if
 * `asVersion16` could have removed the member, that is, if the member is invalid at this path in 1.6 and valid in 1.7. Any other member would change the facts
 * about the asset.
 *
 * @returns false if the property remains a property
 */
function restoreMember(component: CdxComponent, name: string, text: string | undefined): boolean {
  const path = name.slice(KEPT.length);
  const value = parsed(text);
  const steps = path.split('.');
  if (value === undefined || LIST_ITEM.test(path) || !RESTORED.has(steps[0] ?? '')) return false;
  if (path.startsWith(TRANSFORMS)) return put(component, steps, (before) => withReferences(value, before));
  const tried = checkedPartOf(component);
  if (!put(tried, steps, () => value)) return false;
  const isAt = (fault: readonly string[]) =>
    steps.every((step, index) => fault[index] === undefined || fault[index] === step);
  if (!faultsOf(tried).some(isAt) || faultsOf(tried, '1.7').some(isAt)) return false;
  return put(component, steps, () => value);
}

/** Returns a copy of the members on which the validity of a restored member depends. Other members, such as evidence, can be large. */
function checkedPartOf(component: CdxComponent): CdxComponent {
  const members = Object.entries(component).filter(([name]) => CHECKED.has(name));
  return structuredClone(Object.fromEntries(members)) as unknown as CdxComponent;
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

/** Moves members of 1.6 to the reference list of 1.7. `types` maps each member to its reference type. */
function relate(facts: JsonMembers | undefined, types: Readonly<Record<string, string>>): void {
  if (facts === undefined) return;
  const related = Object.entries(types).flatMap(([member, type]) => {
    const ref = facts[member];
    delete facts[member];
    return typeof ref === 'string' ? [{ type, ref }] : [];
  });
  if (related.length > 0) facts['relatedCryptographicAssets'] = related;
}
