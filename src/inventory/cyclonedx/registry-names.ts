import { declaredOf, namedAlgorithms } from '../risk/named-algorithms.js';
import type { AlgorithmUse } from '../model/risk-subject.js';
import type { CdxComponent } from '../model/document.js';
import { findCurve } from '../vocabularies/object-identifiers.js';
import { registryOf } from './bom-schemas.js';

/*
 * The registry of algorithm families and curves that belongs to CycloneDX 1.7 (cryptography-defs). What a name says anyway is no fact of its
 * own: an algorithm is the same one whether its family or its curve is spelled out or not.
 */

const FAMILIES: ReadonlySet<string> = new Set(registryOf('algorithmFamiliesEnum'));
/** Without the group before the slash, names of curves are still unique. */
const CURVES: ReadonlyMap<string, string> = new Map(
  registryOf('ellipticCurvesEnum').map((name) => [curveOf(name), name]),
);
const CURVES_BY_OID = new Map([...CURVES].map(([name, registered]) => [findCurve(name)?.oid, registered]));
/** Names of the NIST come first, then those of SEC 2: a curve has several. */
const FIRST_GROUPS = ['secg/', 'nist/'];
for (const group of FIRST_GROUPS)
  for (const [name, registered] of CURVES)
    if (registered.startsWith(group)) CURVES_BY_OID.set(findCurve(name)?.oid, registered);
CURVES_BY_OID.delete(undefined);

/** Families that have another name in the registry. */
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

/** The family of the registry that the name, OID and properties of an algorithm mean; undefined when they leave it open. */
export function registryFamily(component: CdxComponent): string | undefined {
  const { ingredients } = namedAlgorithms(component.name, declaredOf(component));
  const main = ingredients.find(({ usage }) => usage === null) ?? ingredients[0];
  if (main === undefined || main.hybrid !== null || ingredients.filter(({ usage }) => usage === null).length > 1)
    return undefined;
  const name = main.family === 'RSA' ? rsaFamily(component, main, ingredients) : OTHER_NAMES[main.family];
  return name ?? (FAMILIES.has(main.family) ? main.family : undefined);
}

/** RFC 8017: what RSA is used for, and its padding, make four families of it. */
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

/** The name of a curve in the registry; undefined for one that it does not have. */
export function registryCurve(curve: unknown): string | undefined {
  if (typeof curve !== 'string') return undefined;
  return CURVES.get(curve) ?? CURVES_BY_OID.get(findCurve(curve)?.oid);
}

/** The name of a curve as CycloneDX 1.6 has it, from that of the registry. */
export function curveOf(registered: string): string {
  return registered.slice(registered.indexOf('/') + 1);
}
