import { createHash } from 'node:crypto';

const ALGORITHMS = [
  'RSA-2048',
  'RSA-4096',
  'EC-secp256r1',
  'Ed25519',
  'AES-256-GCM',
  'ML-KEM-768',
  'ML-DSA-65',
  '3DES',
];

export interface Contents {
  readonly assets: number;
  /** Name of the application that the document describes. */
  readonly name: string;
  /** Edition number; documents that differ only in the edition have the same assets. */
  readonly edition?: number;
  /** Names of the algorithms used by the keys and certificates. */
  readonly algorithms?: readonly string[];
}

/**
 * Builds a document that contains keys and certificates. Each is a separate asset of about 450 bytes with one occurrence and two edges. Different names yield
 * different assets.
 */
export function documentOf({ assets, name, edition = 1, algorithms: names = ALGORITHMS }: Contents): Buffer {
  const algorithmOf = (i: number) => names[i % names.length] ?? '';
  const algorithms = names.map((algorithm) => ({
    type: 'cryptographic-asset',
    'bom-ref': algorithm,
    name: algorithm,
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: {} },
  }));
  const components = Array.from({ length: assets - algorithms.length }, (_, i) => component(name, i, algorithmOf(i)));
  const dependencies = components.map((one, i) => ({ ref: one['bom-ref'], dependsOn: [algorithmOf(i)] }));
  const metadata = {
    component: { type: 'application', name },
    properties: [{ name: 'edition', value: `${edition}` }],
  };
  const head = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1, metadata };
  return Buffer.from(JSON.stringify({ ...head, components: [...algorithms, ...components], dependencies }));
}

function component(name: string, i: number, algorithm: string) {
  const id = createHash('sha256').update(`${name} ${i}`).digest('hex');
  const location = `host-${i % 5000}.example.com:443/etc/ssl/${id.slice(0, 8)}.pem`;
  const common = {
    type: 'cryptographic-asset',
    'bom-ref': `a${i}`,
    name: `asset ${id.slice(0, 12)}`,
    evidence: { occurrences: [{ location, line: i % 100 }] },
  };
  if (i % 2 === 0) {
    const facts = { type: 'public-key', id, state: 'active', algorithmRef: algorithm };
    return {
      ...common,
      cryptoProperties: { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts },
    };
  }
  const day = String((i % 28) + 1).padStart(2, '0');
  const facts = {
    subjectName: `CN=${id.slice(0, 12)}.example.com`,
    issuerName: 'CN=Example CA',
    notValidBefore: '2026-01-01T00:00:00Z',
    notValidAfter: `20${27 + (i % 8)}-0${(i % 9) + 1}-${day}T00:00:00Z`,
    signatureAlgorithmRef: algorithm,
  };
  return { ...common, cryptoProperties: { assetType: 'certificate', certificateProperties: facts } };
}
