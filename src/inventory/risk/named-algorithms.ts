import { bareOid } from '../ingest/asset-identity.js';
import type { CdxComponent, CryptoProperties } from '../ingest/draft.js';
import { OIDS } from './algorithm-patterns.js';
import { ingredientsOf } from './algorithm-reader.js';
import { distinct, NONE } from './ingredient-lists.js';
import type { Ingredient } from './risk-subject.js';

/** What the name and the OID of a component stand for. */
export interface NamedAlgorithms {
  readonly ingredients: readonly Ingredient[];
  /** Name and OID cannot mean the same. */
  readonly isContradictory: boolean;
}

/** The same algorithms come with every document, and to read a name takes many patterns. */
const KNOWN = new Map<string, NamedAlgorithms>();
const MOST_KNOWN = 4096;
const LONGEST_KNOWN = 300;

export function namedAlgorithms({ name, cryptoProperties: crypto }: CdxComponent): NamedAlgorithms {
  const key = `${name}\n${crypto?.oid ?? ''}\n${JSON.stringify(crypto?.algorithmProperties ?? null)}`;
  let named = KNOWN.get(key);
  if (named === undefined) {
    named = read(name, crypto);
    if (KNOWN.size === MOST_KNOWN) KNOWN.clear();
    if (key.length < LONGEST_KNOWN) KNOWN.set(key, named);
  }
  return named;
}

function read(name: string, crypto: CryptoProperties | undefined): NamedAlgorithms {
  const declared = crypto?.algorithmProperties;
  const named = ingredientsOf(name, declared);
  const oidName = OIDS[bareOid(crypto?.oid) ?? ''];
  if (oidName === undefined) return { ingredients: named.length === 0 ? NONE : named, isContradictory: false };
  const byOid = ingredientsOf(oidName, declared);
  return {
    ingredients: named.length === 0 ? byOid : related(named, byOid) ? named : distinct([...named, ...byOid]),
    isContradictory: named.length > 0 && !related(named, ingredientsOf(oidName)),
  };
}

/** Whether a name and an OID can mean the same: RSA and SHA256withRSA do, AES and RSA do not. */
function related(a: readonly Ingredient[], b: readonly Ingredient[]): boolean {
  if (b.length === 0) return true;
  const kin = (family: string) =>
    ['EC', 'ECDSA', 'ECDH', 'ECMQV', 'ECIES'].includes(family)
      ? 'EC'
      : ['XDH', 'EdDSA'].includes(family)
        ? 'EC'
        : family;
  return a.some((x) => x.hybrid !== null || b.some((y) => kin(x.family) === kin(y.family)));
}
