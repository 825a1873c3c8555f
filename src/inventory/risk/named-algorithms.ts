import { bareOid } from '../model/asset-identity.js';
import { ALGORITHM_FAMILY, type AlgorithmProperties, type CdxComponent, keptMember } from '../model/document.js';
import { OIDS } from './algorithm-patterns.js';
import { algorithmUsesOf } from './algorithm-reader.js';
import { distinct, NONE } from './algorithm-use-lists.js';
import type { AlgorithmUse } from '../model/risk-subject.js';

/** The algorithms that the name and the OID of a component stand for. */
export interface NamedAlgorithms {
  readonly ingredients: readonly AlgorithmUse[];
  /** Name and OID cannot mean the same. */
  readonly isContradictory: boolean;
}

/** What a component declares about an algorithm. */
export interface DeclaredName {
  readonly oid: string | undefined;
  readonly properties: AlgorithmProperties | undefined;
  /** All of it; undefined for nothing. */
  readonly text: string | undefined;
}

const NOTHING: DeclaredName = { oid: undefined, properties: undefined, text: undefined };

export function declaredOf(component: CdxComponent): DeclaredName {
  const { oid, algorithmProperties } = component.cryptoProperties ?? {};
  const family = algorithmProperties === undefined ? undefined : keptMember(component, ALGORITHM_FAMILY);
  const properties = family === undefined ? algorithmProperties : { ...algorithmProperties, algorithmFamily: family };
  if (oid === undefined && properties === undefined) return NOTHING;
  return { oid, properties, text: `${oid ?? ''}\n${JSON.stringify(properties ?? null)}` };
}

/** The same algorithms come with every document, and to read a name takes many patterns. */
const KNOWN = new Map<string, NamedAlgorithms>();
const MAX_KNOWN = 4096;
const LONGEST_KNOWN = 300;

export function namedAlgorithms(name: string, declared: DeclaredName): NamedAlgorithms {
  const key = `${name}\n${declared.text ?? ''}`;
  let named = KNOWN.get(key);
  if (named === undefined) {
    named = read(name, declared);
    if (KNOWN.size === MAX_KNOWN) KNOWN.clear();
    if (key.length < LONGEST_KNOWN) KNOWN.set(key, named);
  }
  return named;
}

function read(name: string, { oid, properties }: DeclaredName): NamedAlgorithms {
  const own = algorithmUsesOf(name, properties);
  const family = properties?.['algorithmFamily'];
  // A name that means nothing: the document says which family it is.
  const named = own.length === 0 && typeof family === 'string' ? algorithmUsesOf(family, properties) : own;
  const oidName = OIDS[bareOid(oid) ?? ''];
  if (oidName === undefined) return { ingredients: named.length === 0 ? NONE : named, isContradictory: false };
  const byOid = algorithmUsesOf(oidName, properties);
  return {
    ingredients: named.length === 0 ? byOid : related(named, byOid) ? named : distinct([...named, ...byOid]),
    isContradictory: named.length > 0 && !related(named, algorithmUsesOf(oidName)),
  };
}

/** Whether a name and an OID can mean the same: RSA and SHA256withRSA do, AES and RSA do not. */
function related(a: readonly AlgorithmUse[], b: readonly AlgorithmUse[]): boolean {
  if (b.length === 0) return true;
  const kin = (family: string) =>
    ['EC', 'ECDSA', 'ECDH', 'ECMQV', 'ECIES'].includes(family)
      ? 'EC'
      : ['XDH', 'EdDSA'].includes(family)
        ? 'EC'
        : family;
  return a.some((x) => x.hybrid !== null || b.some((y) => kin(x.family) === kin(y.family)));
}
