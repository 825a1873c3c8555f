import { Problem } from '../../../platform/errors/problem.js';
import type { AlgorithmProperties } from '../../model/document.js';
import { isMembers, type JsonMembers, memberTextOf } from '../../model/json.js';
import { findCurve } from '../../judgement/vocabularies/object-identifiers.js';
import { ImpliedAlgorithms } from './protocol-members.js';
import { ownProperty } from '../../../formats/encoding/own-property.js';

/** Specification version of the draft from which CycloneDX 1.6 evolved. */
const OLD = '1.4-cbom-1.0';
const MATERIALS: Record<string, string> = {
  privateKey: 'private-key',
  publicKey: 'public-key',
  secretKey: 'secret-key',
  key: 'key',
  ciphertext: 'ciphertext',
  signature: 'signature',
  digest: 'digest',
  initializationVector: 'initialization-vector',
  nonce: 'nonce',
  seed: 'seed',
  salt: 'salt',
  sharedSecret: 'shared-secret',
  tag: 'tag',
  additionalData: 'additional-data',
  password: 'password',
  credential: 'credential',
  token: 'token',
  other: 'other',
};
const PRIMITIVES: Record<string, string> = {
  blockcipher: 'block-cipher',
  streamcipher: 'stream-cipher',
  keyagree: 'key-agree',
};
const ENVIRONMENTS: Record<string, string> = {
  softwarePlainRam: 'software-plain-ram',
  softwareEncryptedRam: 'software-encrypted-ram',
  softwareTee: 'software-tee',
};
/** Transform types (RFC 7296 section 3.3.2). */
const TRANSFORMS: Record<string, string> = {
  transformType1: 'encr',
  transformType2: 'prf',
  transformType3: 'integ',
  transformType4: 'ke',
};
/** Members of the draft that are unchanged in 1.6. */
const SAME = ['curve', 'mode', 'padding', 'implementationPlatform'] as const;

export function isOldCbom(document: JsonMembers): boolean {
  return document['specVersion'] === OLD;
}

/**
 * oldCbomAsVersion16 converts a document in the draft CBOM format to the members of CycloneDX 1.6 and 1.7 (IBM/CBOM, bom-1.4-cbom-1.0 and
 * cryptographic-properties-1.0).
 */
export function oldCbomAsVersion16(document: JsonMembers): JsonMembers {
  const implied = new ImpliedAlgorithms();
  const given = listOf(document, 'components');
  const refs = new Set(given.filter(isMembers).map((component) => component['bom-ref']));
  const components = given.map((component, index) => {
    if (!isMembers(component) || typeof component['name'] !== 'string')
      refuse(`/components/${index}`, '"name" is missing');
    return component['type'] === 'crypto-asset'
      ? cryptoAsset(component, component['name'], { implied, refs })
      : component;
  });
  const dependencies = listOf(document, 'dependencies').filter(isMembers).map(dependency);
  const metadata = isMembers(document['metadata']) ? document['metadata'] : undefined;
  const serialNumber =
    typeof document['serialNumber'] === 'string' ? document['serialNumber'].toLowerCase() : undefined;
  const version = Number.isInteger(document['version']) ? document['version'] : undefined;
  const all = [...components, ...implied.components()];
  return { specVersion: OLD, serialNumber, version, metadata, components: all, dependencies };
}

function listOf(document: JsonMembers, name: string): unknown[] {
  const list = document[name] ?? [];
  if (!Array.isArray(list)) refuse(`/${name}`, 'must be of type array');
  return list;
}

function refuse(pointer: string, detail: string): never {
  throw new Problem('refused', 'document.invalid', `The document cannot be parsed. ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

/** Converts a dependency. In the draft, each ref has one list and a `dependencyType` (uses or implements). */
function dependency(given: JsonMembers): JsonMembers {
  const list = Array.isArray(given['dependsOn']) ? given['dependsOn'].filter((ref) => typeof ref === 'string') : [];
  const implemented = given['dependencyType'] === 'implements';
  return { ref: memberTextOf(given['ref']), ...(implemented ? { provides: list } : { dependsOn: list }) };
}

/** Context in which algorithm names in a certificate are resolved. */
interface Named {
  readonly implied: ImpliedAlgorithms;
  /** Bom-refs of the document. */
  readonly refs: ReadonlySet<unknown>;
}

function cryptoAsset(component: JsonMembers, name: string, named: Named): JsonMembers {
  const old = isMembers(component['cryptoProperties']) ? component['cryptoProperties'] : {};
  const kind = memberTextOf(old['assetType']);
  const assetType = {
    relatedCryptoMaterial: 'related-crypto-material',
    algorithm: 'algorithm',
    certificate: 'certificate',
    protocol: 'protocol',
  }[kind];
  const cryptoProperties = {
    assetType: assetType ?? 'algorithm',
    ...(typeof old['oid'] === 'string' ? { oid: old['oid'] } : {}),
    ...algorithmOf(old, name),
    ...materialOf(old['relatedCryptoMaterialProperties']),
    ...protocolOf(old['protocolProperties']),
    ...certificateOf(old['certificateProperties'], named),
  };
  const evidence = evidenceOf(component['evidence'], old['detectionContext']);
  return { 'bom-ref': component['bom-ref'], type: 'cryptographic-asset', name, evidence, cryptoProperties };
}

/** Returns the evidence, in which the draft's detection contexts are appended to the component's own occurrences. */
function evidenceOf(evidence: unknown, contexts: unknown): JsonMembers | undefined {
  const found = (Array.isArray(contexts) ? contexts.filter(isMembers) : []).flatMap(occurrence);
  if (!isMembers(evidence)) return found.length === 0 ? undefined : { occurrences: found };
  if (found.length === 0) return evidence;
  const stated = Array.isArray(evidence['occurrences']) ? (evidence['occurrences'] as unknown[]) : [];
  return { ...evidence, occurrences: [...stated, ...found] };
}

/** Converts a detection context. The line of the occurrence is the smallest line number, which is the start of the quoted code. */
function occurrence({ filePath, lineNumbers, offsets, symbols, additionalContext }: JsonMembers): JsonMembers[] {
  if (typeof filePath !== 'string' || filePath === '') return [];
  const [line, offset, symbol] = [smallest(lineNumbers), smallest(offsets), firstText(symbols)];
  const place = {
    location: filePath,
    ...(line === undefined ? {} : { line }),
    ...(offset === undefined ? {} : { offset }),
    ...(symbol === undefined ? {} : { symbol }),
    ...(typeof additionalContext === 'string' ? { additionalContext } : {}),
  };
  return [place];
}

function smallest(numbers: unknown): number | undefined {
  const list = Array.isArray(numbers)
    ? numbers.filter((number) => Number.isInteger(number) && Number(number) >= 0)
    : [];
  return list.length === 0 ? undefined : list.map(Number).reduce((least, number) => Math.min(least, number));
}

function firstText(texts: unknown): string | undefined {
  return (Array.isArray(texts) ? (texts as unknown[]) : []).find((text) => typeof text === 'string');
}

function algorithmOf({ algorithmProperties: old, ...beside }: JsonMembers, name: string): JsonMembers {
  if (!isMembers(old)) return {};
  const { variant, primitive, cryptoFunctions, implementationLevel, certificationLevel } = old;
  const facts: AlgorithmProperties = typeof variant === 'string' ? variantFacts(variant, name) : {};
  if (typeof primitive === 'string') facts.primitive = ownProperty(PRIMITIVES, primitive) ?? primitive;
  for (const member of SAME) {
    const value = old[member];
    if (typeof value === 'string') facts[member] = value;
  }
  if (typeof implementationLevel === 'string')
    facts['executionEnvironment'] = ownProperty(ENVIRONMENTS, implementationLevel) ?? implementationLevel;
  if (typeof certificationLevel === 'string')
    facts['certificationLevel'] = [certificationLevel.replace(/^eal/, 'cc-eal')];
  if (Array.isArray(cryptoFunctions)) facts.cryptoFunctions = cryptoFunctions.filter((use) => typeof use === 'string');
  for (const level of ['classicalSecurityLevel', 'nistQuantumSecurityLevel'] as const) {
    const value = old[level] ?? beside[level];
    if (Number.isInteger(value)) facts[level] = value as number;
  }
  return { algorithmProperties: facts };
}

const MODES = /(?:^|-)(cbc|ecb|ccm|gcm|cfb|ofb|ctr)(?:-|$)/;

/** Returns the facts in a variant that are not in the name: `aes128-gcm` adds a size and a mode to AES, and `ecdh-curve25519` adds a curve to ECDH. */
function variantFacts(variant: string, name: string): AlgorithmProperties {
  const [whole, known] = [variant.toLowerCase(), name.toLowerCase()];
  const more = whole.startsWith(known) ? whole.slice(known.length).replace(/^[-_ ]/, '') : whole;
  if (more === '') return {};
  if (findCurve(more) !== undefined) return { curve: more };
  const mode = MODES.exec(more)?.[1];
  const rest = mode === undefined || more === whole ? more : more.replace(MODES, '');
  return {
    ...(mode === undefined ? {} : { mode }),
    ...(rest === '' ? {} : { parameterSetIdentifier: more === whole ? variant : rest }),
  };
}

function materialOf(old: unknown): JsonMembers {
  if (!isMembers(old)) return {};
  const { relatedCryptoMaterialType: type, secured, ...rest } = old;
  const protection = secured === true ? { securedBy: { mechanism: 'unknown' } } : {};
  return {
    relatedCryptoMaterialProperties: {
      type: ownProperty(MATERIALS, memberTextOf(type)) ?? 'unknown',
      ...protection,
      ...rest,
    },
  };
}

function certificateOf(old: unknown, { implied, refs }: Named): JsonMembers {
  if (!isMembers(old)) return {};
  const { certificateAlgorithm, certificateSignatureAlgorithm, certificateExtensions, ...rest } = old;
  const refOf = (name: unknown) => {
    if (typeof name !== 'string' || name === '') return undefined;
    return refs.has(name) ? name : implied.ref(name, { primitive: 'signature' });
  };
  const key = refOf(certificateAlgorithm);
  const signature = refOf(certificateSignatureAlgorithm);
  const certificateProperties = {
    ...(key === undefined ? {} : { subjectPublicKeyRef: key }),
    ...(signature === undefined ? {} : { signatureAlgorithmRef: signature }),
    ...(typeof certificateExtensions === 'string' ? { certificateExtension: certificateExtensions } : {}),
    ...rest,
  };
  return { certificateProperties };
}

function protocolOf(old: unknown): JsonMembers {
  if (!isMembers(old)) return {};
  const { tlsCipherSuites, ikev2TransformTypes, name, version, ...rest } = old;
  const suites = Array.isArray(tlsCipherSuites) ? (tlsCipherSuites as unknown[]).map(suiteOf) : undefined;
  const transforms = isMembers(ikev2TransformTypes) ? transformsOf(ikev2TransformTypes) : undefined;
  const given = version ?? name;
  const protocolProperties = {
    type: transforms === undefined ? 'tls' : 'ike',
    ...(typeof given === 'string' ? { version: given } : {}),
    ...rest,
    ...(suites === undefined ? {} : { cipherSuites: suites }),
    ...(transforms === undefined ? {} : { ikev2TransformTypes: transforms }),
  };
  return { protocolProperties };
}

function suiteOf(suite: unknown): JsonMembers {
  return isMembers(suite) ? suite : { name: memberTextOf(suite) };
}

/** Converts IKEv2 transforms to names and group numbers, as in 1.7. */
function transformsOf(old: JsonMembers): JsonMembers {
  const transforms: JsonMembers = {};
  for (const [type, list] of Object.entries(old)) {
    if (!Array.isArray(list)) continue;
    const isGroup = type === 'transformType4';
    transforms[ownProperty(TRANSFORMS, type) ?? type] = (list as unknown[]).map((one) => {
      if (isMembers(one)) return one;
      return isGroup && typeof one === 'number' ? { group: one } : { name: memberTextOf(one) };
    });
  }
  return transforms;
}
