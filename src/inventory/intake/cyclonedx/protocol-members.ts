import { canonicalJson } from '../../../platform/json/canonical-json.js';
import type { AlgorithmProperties, DraftLink, CdxComponent } from '../../model/document.js';
import { isMembers, type JsonMembers } from '../../model/json.js';

/** ImpliedAlgorithms collects the algorithms that a document names without referring to a component. Each of these algorithms becomes one component. */
export class ImpliedAlgorithms {
  private readonly byRef = new Map<string, CdxComponent>();

  /** Returns a generated bom-ref for the algorithm. The leading space keeps it distinct from the bom-refs of the document. */
  ref(name: string, algorithmProperties: AlgorithmProperties = {}): string {
    const ref = ` algorithm ${name} ${JSON.stringify(algorithmProperties)}`;
    if (!this.byRef.has(ref))
      this.byRef.set(ref, {
        'bom-ref': ref,
        type: 'cryptographic-asset',
        name,
        cryptoProperties: { assetType: 'algorithm', algorithmProperties },
      });
    return ref;
  }

  components(): Iterable<CdxComponent> {
    return this.byRef.values();
  }
}

/*
 * Protocol members that CycloneDX 1.7 added: names of groups and signature schemes, and IKEv2 transforms as objects. CycloneDX 1.6 supports only references,
 * so each name becomes an algorithm on which the protocol depends.
 */

/** KeptMember is a member that CycloneDX 1.6 cannot express, with its path in 1.7. */
export interface KeptMember {
  readonly path: string;
  readonly value: unknown;
}

const IN_PROTOCOL = 'cryptoProperties.protocolProperties';
const TRANSFORMS: Readonly<Record<string, AlgorithmProperties>> = {
  encr: { primitive: 'block-cipher' },
  prf: { primitive: 'kdf' },
  integ: { primitive: 'mac' },
  ke: { primitive: 'key-agree' },
  auth: { primitive: 'signature' },
};

/**
 * IKEv2 key exchange methods (IANA, Transform Type 4 - Key Exchange Method Transform IDs): RFC 3526, 5114, 5903, 6954, 8031, 9385;
 * draft-ietf-ipsecme-ikev2-mlkem.
 */
const GROUPS: Readonly<Record<number, string>> = {
  1: 'DH-768',
  2: 'DH-1024',
  5: 'DH-1536',
  14: 'DH-2048',
  15: 'DH-3072',
  16: 'DH-4096',
  17: 'DH-6144',
  18: 'DH-8192',
  19: 'ECDH-secp256r1',
  20: 'ECDH-secp384r1',
  21: 'ECDH-secp521r1',
  22: 'DH-1024',
  23: 'DH-2048',
  24: 'DH-2048',
  25: 'ECDH-secp192r1',
  26: 'ECDH-secp224r1',
  27: 'ECDH-brainpoolP224r1',
  28: 'ECDH-brainpoolP256r1',
  29: 'ECDH-brainpoolP384r1',
  30: 'ECDH-brainpoolP512r1',
  31: 'X25519',
  32: 'X448',
  35: 'ML-KEM-512',
  36: 'ML-KEM-768',
  37: 'ML-KEM-1024',
};

/**
 * protocolAsVersion16 converts the members of a protocol to CycloneDX 1.6 in place, and adds links to the algorithms that the protocol names.
 *
 * @returns the members that 1.6 cannot express
 */
export function protocolAsVersion16(
  protocol: JsonMembers,
  implied: ImpliedAlgorithms,
  links: DraftLink[],
): KeptMember[] {
  const depend = (name: string, properties: AlgorithmProperties) =>
    void links.push({ to: implied.ref(name, properties), kind: 'dependsOn' });
  return [...suiteMembers(protocol, depend), ...transformMembers(protocol['ikev2TransformTypes'], depend)];
}

type Depend = (name: string, properties: AlgorithmProperties) => void;

function suiteMembers(protocol: JsonMembers, depend: Depend): KeptMember[] {
  const suites = protocol['cipherSuites'];
  if (!Array.isArray(suites) || !suites.some(hasNames)) return [];
  const ordered = (suites as JsonMembers[]).toSorted((a, b) => order(suiteKey(a), suiteKey(b)));
  protocol['cipherSuites'] = ordered;
  return ordered.flatMap((suite, index) =>
    SUITE_LISTS.flatMap(([member, primitive]) => {
      const names = suite[member];
      if (!Array.isArray(names)) return [];
      delete suite[member];
      const value = names.filter((name) => typeof name === 'string').toSorted(order);
      for (const name of value) depend(name, { primitive });
      return [{ path: `${IN_PROTOCOL}.cipherSuites.${index}.${member}`, value }];
    }),
  );
}

const SUITE_LISTS = [
  ['tlsGroups', 'key-agree'],
  ['tlsSignatureSchemes', 'signature'],
] as const;

function hasNames(suite: unknown): boolean {
  return isMembers(suite) && SUITE_LISTS.some(([member]) => suite[member] !== undefined);
}

/** Returns the sort key of a cipher suite. References are excluded, because references are valid only within one document. */
function suiteKey({ name, identifiers, tlsGroups, tlsSignatureSchemes }: JsonMembers): string {
  return canonicalJson([name, identifiers, tlsGroups, tlsSignatureSchemes]);
}

function transformMembers(types: unknown, depend: Depend): KeptMember[] {
  if (!isMembers(types)) return [];
  return Object.entries(TRANSFORMS).flatMap(([type, properties]) => {
    const transforms = types[type];
    if (!Array.isArray(transforms) || !transforms.some(isMembers)) return [];
    const given = (transforms as unknown[]).map(transformOf).toSorted((a, b) => order(a.key, b.key));
    types[type] = given.flatMap(({ algorithm }) => (algorithm === undefined ? [] : [algorithm]));
    for (const { algorithm, facts } of given) if (algorithm === undefined) dependOn(facts, properties, depend);
    const value = given.map(({ facts }) => facts);
    return [{ path: `${IN_PROTOCOL}.ikev2TransformTypes.${type}`, value }];
  });
}

interface Transform {
  readonly facts: JsonMembers;
  readonly algorithm: string | undefined;
  /** Sort key. Transforms with a reference come first, so that their order matches the references of 1.6. */
  readonly key: string;
}

function transformOf(given: unknown): Transform {
  if (!isMembers(given)) return { facts: {}, algorithm: String(given), key: 'a' };
  const { algorithm, ...facts } = given;
  const isLinked = typeof algorithm === 'string' && algorithm !== '';
  return { facts, algorithm: isLinked ? algorithm : undefined, key: `${isLinked ? 'a' : 'b'}${canonicalJson(facts)}` };
}

function dependOn({ name, keyLength, group }: JsonMembers, properties: AlgorithmProperties, depend: Depend): void {
  if (typeof group === 'number') depend(GROUPS[group] ?? `IKEv2 group ${group}`, properties);
  if (typeof name !== 'string' || name === '') return;
  const size = typeof keyLength === 'number' ? { parameterSetIdentifier: String(keyLength) } : {};
  depend(name, { ...properties, ...size });
}

/** withReferences adds the references of 1.6 to the preserved transforms. */
export function withReferences(kept: unknown, references: unknown): unknown {
  if (!Array.isArray(kept) || !Array.isArray(references)) return kept;
  return (kept as JsonMembers[]).map((facts, index) =>
    references[index] === undefined ? facts : { ...facts, algorithm: references[index] as unknown },
  );
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
