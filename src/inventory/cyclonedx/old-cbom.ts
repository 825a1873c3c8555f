import { Problem } from '../../platform/errors/problem.js';
import { isMembers, type JsonMembers, memberTextOf } from '../model/json.js';

/** The draft that CycloneDX 1.6 grew out of. */
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
};
const PRIMITIVES: Record<string, string> = {
  blockcipher: 'block-cipher',
  streamcipher: 'stream-cipher',
  keyagree: 'key-agree',
};

export function isOldCbom(document: JsonMembers): boolean {
  return document['specVersion'] === OLD;
}

/** A document of the draft in the words of 1.6, as far as an inventory needs them. There is no published schema to check it by. */
export function oldCbomAsVersion16(document: JsonMembers): JsonMembers {
  const components = listOf(document, 'components').map((component, index) => {
    if (!isMembers(component) || typeof component['name'] !== 'string')
      refuse(`/components/${index}`, '"name" is missing');
    return component['type'] === 'crypto-asset' ? cryptoAsset(component) : component;
  });
  const dependencies = listOf(document, 'dependencies').filter(isMembers).map(dependency);
  const metadata = isMembers(document['metadata']) ? document['metadata'] : undefined;
  const serialNumber =
    typeof document['serialNumber'] === 'string' ? document['serialNumber'].toLowerCase() : undefined;
  const version = Number.isInteger(document['version']) ? document['version'] : undefined;
  return { specVersion: OLD, serialNumber, version, metadata, components, dependencies };
}

function listOf(document: JsonMembers, name: string): unknown[] {
  const list = document[name] ?? [];
  if (!Array.isArray(list)) refuse(`/${name}`, 'must be of type array');
  return list;
}

function refuse(pointer: string, detail: string): never {
  throw new Problem('refused', 'document.invalid', `The document cannot be read. ${pointer}: ${detail}.`, {
    errors: [{ pointer, detail }],
  });
}

/** The draft has one list per ref and a `dependencyType`: uses or implements. */
function dependency(given: JsonMembers): JsonMembers {
  const list = Array.isArray(given['dependsOn']) ? given['dependsOn'].filter((ref) => typeof ref === 'string') : [];
  const implemented = given['dependencyType'] === 'implements';
  return { ref: memberTextOf(given['ref']), ...(implemented ? { provides: list } : { dependsOn: list }) };
}

function cryptoAsset(component: JsonMembers): JsonMembers {
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
    ...algorithmOf(old['algorithmProperties']),
    ...materialOf(old['relatedCryptoMaterialProperties']),
    ...protocolOf(old['protocolProperties']),
    ...(isMembers(old['certificateProperties']) ? { certificateProperties: old['certificateProperties'] } : {}),
  };
  const evidence = isMembers(component['evidence']) ? component['evidence'] : undefined;
  return {
    'bom-ref': component['bom-ref'],
    type: 'cryptographic-asset',
    name: component['name'],
    evidence,
    cryptoProperties,
  };
}

function algorithmOf(old: unknown): JsonMembers {
  if (!isMembers(old)) return {};
  const { variant, primitive, cryptoFunctions, curve, mode, padding } = old;
  const facts: JsonMembers = {};
  if (typeof primitive === 'string') facts['primitive'] = PRIMITIVES[primitive] ?? primitive;
  if (typeof variant === 'string') facts['parameterSetIdentifier'] = variant;
  if (typeof curve === 'string') facts['curve'] = curve;
  if (typeof mode === 'string') facts['mode'] = mode;
  if (typeof padding === 'string') facts['padding'] = padding;
  if (Array.isArray(cryptoFunctions))
    facts['cryptoFunctions'] = cryptoFunctions.filter((name) => typeof name === 'string');
  return { algorithmProperties: facts };
}

function materialOf(old: unknown): JsonMembers {
  if (!isMembers(old)) return {};
  const { relatedCryptoMaterialType: type, ...rest } = old;
  return { relatedCryptoMaterialProperties: { type: MATERIALS[memberTextOf(type)] ?? 'unknown', ...rest } };
}

function protocolOf(old: unknown): JsonMembers {
  if (!isMembers(old)) return {};
  const { tlsCipherSuites, ...rest } = old;
  return {
    protocolProperties: {
      type: 'tls',
      ...rest,
      ...(Array.isArray(tlsCipherSuites) ? { cipherSuites: tlsCipherSuites } : {}),
    },
  };
}
