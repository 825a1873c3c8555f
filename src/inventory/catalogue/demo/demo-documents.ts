/** Prefix of demo source names. Other sources should not use the prefix. */
export const DEMO_PREFIX = 'demo:';

const DAY_MS = 24 * 3600 * 1000;

type Component = Record<string, unknown> & { 'bom-ref': string };
type Crypto = Record<string, unknown>;

/** A sample application, whose certificates expire the given number of days from now. */
interface DemoApplication {
  readonly name: string;
  readonly library: string;
  readonly hosts: readonly string[];
  readonly tls: '1.0' | '1.2' | '1.3';
  readonly suites: readonly string[];
  readonly certificate: { readonly algorithm: string; readonly endsInDays: number };
  readonly algorithms: readonly (readonly [name: string, primitive: string])[];
}

const MODERN = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
const USUAL = ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'];
const APPLICATIONS: readonly DemoApplication[] = [
  {
    name: 'web shop',
    library: 'openssl@3.5.4',
    hosts: ['shop-1.example.com', 'shop-2.example.com', 'shop-3.example.com'],
    tls: '1.3',
    suites: MODERN,
    certificate: { algorithm: 'SHA256withRSA', endsInDays: 41 },
    algorithms: [
      ['X25519MLKEM768', 'kem'],
      ['RSA-2048', 'signature'],
      ['AES-256-GCM', 'ae'],
      ['SHA-384', 'hash'],
    ],
  },
  {
    name: 'payments',
    library: 'bcprov@1.82',
    hosts: ['pay-1.example.com', 'pay-2.example.com'],
    tls: '1.2',
    suites: USUAL,
    certificate: { algorithm: 'SHA256withECDSA', endsInDays: 12 },
    algorithms: [
      ['RSA-3072', 'signature'],
      ['ECDH-P256', 'key-agree'],
      ['AES-128-GCM', 'ae'],
      ['HMAC-SHA256', 'mac'],
    ],
  },
  {
    name: 'old ERP',
    library: 'openssl@1.0.2',
    hosts: ['erp.intern.example.com'],
    tls: '1.0',
    suites: ['TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'TLS_RSA_WITH_AES_128_CBC_SHA'],
    certificate: { algorithm: 'SHA1withRSA', endsInDays: -20 },
    algorithms: [
      ['RSA-1024', 'signature'],
      ['3DES', 'block-cipher'],
      ['MD5', 'hash'],
      ['SHA-1', 'hash'],
      ['DES-CBC', 'block-cipher'],
    ],
  },
  {
    name: 'mobile backend',
    library: 'go-crypto@1.26',
    hosts: ['api-1.example.com', 'api-2.example.com', 'api-3.example.com', 'api-4.example.com'],
    tls: '1.3',
    suites: MODERN,
    certificate: { algorithm: 'Ed25519', endsInDays: 300 },
    algorithms: [
      ['ML-KEM-768', 'kem'],
      ['Ed25519', 'signature'],
      ['ChaCha20-Poly1305', 'ae'],
      ['Argon2id', 'kdf'],
    ],
  },
  {
    name: 'firmware signing',
    library: 'liboqs@0.14',
    hosts: ['build.intern.example.com'],
    tls: '1.3',
    suites: MODERN,
    certificate: { algorithm: 'ML-DSA-87', endsInDays: 900 },
    algorithms: [
      ['ML-DSA-87', 'signature'],
      ['LMS', 'signature'],
      ['SHA-512', 'hash'],
      ['AES-256-GCM', 'ae'],
    ],
  },
];

/**
 * demoDocuments returns sample documents as a scanner might produce them: a few applications, from one that needs no migration to one that should be retired.
 */
export function demoDocuments(now: Date): { source: string; document: object }[] {
  return APPLICATIONS.map((application) => ({
    source: `${DEMO_PREFIX} ${application.name}`,
    document: documentOf(application, now),
  }));
}

function documentOf(application: DemoApplication, now: Date): object {
  const { name, library, hosts } = application;
  const algorithms = algorithmsOf(application);
  const credentials = hosts.flatMap((host) => credentialsOf(application, host, now));
  const protocol = protocolOf(application);
  const [libraryName = library, version = ''] = library.split('@');
  const refs = algorithms.map((algorithm) => algorithm['bom-ref']);
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', 'bom-ref': 'application', name } },
    components: [
      { type: 'library', 'bom-ref': 'library', name: libraryName, version },
      ...algorithms,
      ...credentials,
      protocol,
    ],
    dependencies: [
      { ref: 'application', dependsOn: ['library', 'tls', ...refs] },
      { ref: 'library', provides: refs },
    ],
  };
}

function algorithmsOf({ name, algorithms, certificate }: DemoApplication): Component[] {
  const file = `src/${name.replaceAll(' ', '-')}/crypto`;
  const used = [...algorithms, [certificate.algorithm, 'signature'] as const];
  return [...new Map(used.map((one) => [one[0], one])).values()].map(([algorithm, primitive], index) =>
    asset(algorithm, algorithm, `${file}.ts`, 10 + index * 7, {
      assetType: 'algorithm',
      algorithmProperties: { primitive },
    }),
  );
}

function credentialsOf({ name, certificate }: DemoApplication, host: string, now: Date): Component[] {
  const time = (days: number) => new Date(startOfDay(now) + days * DAY_MS).toISOString().replace('.000Z', 'Z');
  const keyRef = `key of ${host}`;
  const { algorithm, endsInDays } = certificate;
  return [
    asset(keyRef, `${DEMO_PREFIX} key of ${host}`, `${host}:/etc/ssl/private/${name.replaceAll(' ', '-')}.key`, 1, {
      assetType: 'related-crypto-material',
      relatedCryptoMaterialProperties: {
        type: 'public-key',
        id: `${DEMO_PREFIX} key of ${host}`,
        state: 'active',
        algorithmRef: algorithm,
      },
    }),
    asset(`certificate of ${host}`, host, `${host}:443`, 1, {
      assetType: 'certificate',
      certificateProperties: {
        subjectName: `CN=${host}`,
        issuerName: 'CN=Demo CA',
        notValidBefore: time(endsInDays - 365),
        notValidAfter: time(endsInDays),
        signatureAlgorithmRef: algorithm,
        subjectPublicKeyRef: keyRef,
      },
    }),
  ];
}

/** Primitives on which a TLS protocol depends directly. The certificate uses the signature algorithm. */
const IN_TLS = new Set(['kem', 'key-agree', 'ae', 'block-cipher', 'mac']);

function protocolOf({ tls, suites, hosts, algorithms, certificate }: DemoApplication): Component {
  const negotiated = algorithms.filter(([, primitive]) => IN_TLS.has(primitive)).map(([name]) => name);
  const references = [...negotiated, certificate.algorithm];
  return asset('tls', `TLS ${tls}`, `${hosts[0]}:443`, 1, {
    assetType: 'protocol',
    protocolProperties: {
      type: 'tls',
      version: tls,
      cipherSuites: suites.map((suite) => ({ name: suite, algorithms: references })),
    },
  });
}

function asset(ref: string, name: string, location: string, line: number, cryptoProperties: Crypto): Component {
  const evidence = { occurrences: [{ location, line }] };
  return { type: 'cryptographic-asset', 'bom-ref': ref, name, cryptoProperties, evidence };
}

/** Returns the start of the day, so that the demo documents of one day are identical. */
function startOfDay(now: Date): number {
  return Math.floor(now.getTime() / DAY_MS) * DAY_MS;
}
