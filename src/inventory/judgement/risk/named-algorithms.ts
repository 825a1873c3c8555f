import { truncate } from '../../../platform/text/truncate.js';
import { bareOid } from '../../model/asset-identity.js';
import { ALGORITHM_FAMILY, type AlgorithmProperties, type CdxComponent, keptMember } from '../../model/document.js';
import { distinct, NONE } from './algorithm-use-lists.js';
import { type ReadAlgorithm, readAlgorithm } from '../names/algorithm-uses.js';
import type { NameReading } from '../names/name-reading.js';
import type { AlgorithmUse } from '../../model/risk-subject.js';

/** NamedAlgorithms contains the algorithms to which a component's name and OID refer. */
export interface NamedAlgorithms {
  readonly ingredients: readonly AlgorithmUse[];
  /** Contains the name if it was not recognized, or not recognized precisely enough to be classified as safe; otherwise empty. */
  readonly unread: readonly string[];
  /** Whether the unrecognized part looks like a public-key algorithm. */
  readonly mayBePublicKey: boolean;
  readonly isNoAlgorithm: boolean;
  /** Whether the name consists of an algorithm and nothing else. */
  readonly isWhole: boolean;
  /** Whether the name and the OID contradict each other. */
  readonly isContradictory: boolean;
}

/** DeclaredName contains the facts that a component declares about an algorithm. */
export interface DeclaredName {
  readonly oid: string | undefined;
  readonly properties: AlgorithmProperties | undefined;
  /** All declared facts as text; undefined if the component declares none. */
  readonly text: string | undefined;
}

const NOTHING: DeclaredName = { oid: undefined, properties: undefined, text: undefined };

export function declaredOf(component: CdxComponent): DeclaredName {
  const { oid, algorithmProperties } = component.cryptoProperties ?? {};
  const family = algorithmProperties === undefined ? undefined : keptMember(component, ALGORITHM_FAMILY);
  const properties =
    typeof family === 'string' ? { ...algorithmProperties, algorithmFamily: family } : algorithmProperties;
  if (oid === undefined && properties === undefined) return NOTHING;
  return { oid, properties, text: `${oid ?? ''}\n${JSON.stringify(properties ?? null)}` };
}

/** Cache of names. The same algorithms occur in every document, and interpreting a name requires matching many patterns. */
const KNOWN = new Map<string, NamedAlgorithms>();
const MAX_KNOWN = 4096;
const MAX_KNOWN_LENGTH = 300;
/** MAX_UNREAD_LENGTH is the maximum length of an unrecognized name. Verdicts contain unrecognized names, and users can define the meanings of these names. */
const MAX_UNREAD_LENGTH = 120;

export function namedAlgorithms(name: string, declared: DeclaredName): NamedAlgorithms {
  const key = `${name}\n${declared.text ?? ''}`;
  let named = KNOWN.get(key);
  if (named === undefined) {
    named = read(name, declared);
    if (KNOWN.size === MAX_KNOWN) KNOWN.clear();
    if (key.length < MAX_KNOWN_LENGTH) KNOWN.set(key, named);
  }
  return named;
}

function read(name: string, { oid, properties }: DeclaredName): NamedAlgorithms {
  const named = readAlgorithm(name, properties);
  const identifier = bareOid(oid);
  const byOid = identifier === undefined ? undefined : readAlgorithm(identifier, properties);
  const unread = named.uses.length === 0 || named.reading.mayBePublicKey ? unreadName(name, named.reading) : [];
  if (byOid === undefined || byOid.uses.length === 0) return { ...namedOnly(named), unread, isContradictory: false };
  // The OID is used even if the name is not recognized.
  if (named.uses.length === 0)
    return { ...namedOnly(byOid), unread: [], mayBePublicKey: false, isContradictory: false };
  const fit = related(named.uses, byOid.uses);
  return {
    ...namedOnly(named),
    ingredients: fit ? completed(named.uses, byOid.uses) : distinct([...named.uses, ...byOid.uses]),
    mayBePublicKey: named.reading.mayBePublicKey && !fit,
    unread: fit ? [] : unread,
    isContradictory: !related(named.uses, readAlgorithm(identifier ?? '').uses),
  };
}

function namedOnly({ uses, reading }: ReadAlgorithm): Omit<NamedAlgorithms, 'unread' | 'isContradictory'> {
  const { mayBePublicKey, isNoAlgorithm, isWhole } = reading;
  return { ingredients: uses.length === 0 ? NONE : uses, mayBePublicKey, isNoAlgorithm, isWhole };
}

/** Returns the whole name, because users define meanings for whole names. */
function unreadName(name: string, { isNoAlgorithm }: NameReading): readonly string[] {
  return isNoAlgorithm || name.trim() === '' ? [] : [truncate(name.trim(), MAX_UNREAD_LENGTH)];
}

/** Adds facts that only the OID implies: a size, a mode, or the hash of a signature. */
function completed(named: readonly AlgorithmUse[], byOid: readonly AlgorithmUse[]): readonly AlgorithmUse[] {
  const merged = named.map((use) => {
    const same = byOid.find(({ family, hybrid }) => family === use.family && hybrid === use.hybrid);
    return same === undefined ? use : filled(use, same);
  });
  const further = byOid.filter(({ family, usage }) => usage !== null && !named.some((use) => use.family === family));
  return [...merged, ...further];
}

function filled(use: AlgorithmUse, from: AlgorithmUse): AlgorithmUse {
  return {
    ...use,
    bits: use.bits ?? from.bits,
    curveBits: use.curveBits ?? from.curveBits,
    param: use.param ?? from.param,
    purpose: use.purpose === 'unknown' ? from.purpose : use.purpose,
    mode: use.mode ?? from.mode,
    padding: use.padding ?? from.padding,
    hash: use.hash ?? from.hash,
  };
}

/** Families that may use the same key, because the curve or the class of the scheme is the same. */
const KIN: Readonly<Record<string, string>> = Object.fromEntries(
  ['ECDSA', 'ECDH', 'ECMQV', 'ECIES', 'XDH', 'EdDSA', 'SM2', 'Schnorr', 'GOST'].map((family) => [family, 'EC']),
);

/** Reports whether a name and an OID can refer to the same algorithm: RSA and SHA256withRSA can, but AES and RSA cannot. */
function related(a: readonly AlgorithmUse[], b: readonly AlgorithmUse[]): boolean {
  if (b.length === 0) return true;
  const kin = (family: string) => KIN[family] ?? family;
  return a.some((x) => x.hybrid !== null || b.some((y) => kin(x.family) === kin(y.family)));
}
