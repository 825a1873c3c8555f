import { declaredOf, namedAlgorithms } from '../../judgement/risk/named-algorithms.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';
import type { CdxComponent } from '../../model/document.js';
import { findCurve } from '../../judgement/vocabularies/object-identifiers.js';
import { registryOf } from './bom-schemas.js';

/*
 * Families and curves of the algorithm registry in CycloneDX 1.7 (cryptography-defs). A family or curve that the algorithm's name already implies is not a
 * separate fact. Components with and without the implied family or curve describe the same algorithm.
 */

const FAMILIES: ReadonlySet<string> = new Set(registryOf('algorithmFamiliesEnum'));
/** Registered curves, by name without the group before the slash. If several groups define a name, FIRST_GROUPS determines the curve. */
const CURVES: ReadonlyMap<string, string> = new Map(
  registryOf('ellipticCurvesEnum').map((name) => [curveOf(name), name]),
);
const CURVES_BY_OID = new Map([...CURVES].map(([name, registered]) => [findCurve(name)?.oid, registered]));
/** Groups of curve names in ascending priority: NIST names take precedence over SEC 2 names, and SEC 2 names over all others. */
const FIRST_GROUPS = ['secg/', 'nist/'];
for (const group of FIRST_GROUPS)
  for (const [name, registered] of CURVES)
    if (registered.startsWith(group)) CURVES_BY_OID.set(findCurve(name)?.oid, registered);
CURVES_BY_OID.delete(undefined);

/** Families with a different name in the registry. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  Camellia: 'CAMELLIA',
  DH: 'FFDH',
  ECMQV: 'MQV',
  GOST28147: 'GOST',
  HSS: 'LMS',
  SHAKE: 'SHA-3',
  'SPAKE2+': 'SPAKE2PLUS',
  XDH: 'ECDH',
  XMSSMT: 'XMSS',
};

/** registryFamily returns the registry family of an algorithm, or undefined if the name, OID and properties of the algorithm do not determine the family. */
export function registryFamily(component: CdxComponent): string | undefined {
  const { ingredients } = namedAlgorithms(component.name, declaredOf(component));
  const main = ingredients.find(({ usage }) => usage === null) ?? ingredients[0];
  if (main === undefined || main.hybrid !== null || ingredients.filter(({ usage }) => usage === null).length > 1)
    return undefined;
  const name = main.family === 'RSA' ? rsaFamily(component, main, ingredients) : OTHER_NAMES[main.family];
  return name ?? (FAMILIES.has(main.family) ? main.family : undefined);
}

/** Returns one of the four RSA families of RFC 8017, by purpose and padding. */
function rsaFamily(
  { name }: CdxComponent,
  { purpose, padding }: AlgorithmUse,
  ingredients: readonly AlgorithmUse[],
): string | undefined {
  if (/oaep/i.test(name) || padding === 'oaep') return 'RSAES-OAEP';
  if (/pss/i.test(name) || padding === 'pss') return 'RSASSA-PSS';
  if (purpose === 'encryption' && padding === 'pkcs1v15') return 'RSAES-PKCS1';
  const hasHash = ingredients.some(({ usage }) => usage === 'signature');
  return purpose === 'signature' && (hasHash || padding === 'pkcs1v15') ? 'RSASSA-PKCS1' : undefined;
}

/** registryCurve returns the name of a curve in the registry, or undefined if the registry does not contain the curve. */
export function registryCurve(curve: unknown): string | undefined {
  if (typeof curve !== 'string') return undefined;
  return CURVES.get(curve) ?? CURVES_BY_OID.get(findCurve(curve)?.oid);
}

/** curveOf converts a curve name of the registry to the curve name of CycloneDX 1.6. */
export function curveOf(registered: string): string {
  return registered.slice(registered.indexOf('/') + 1);
}
