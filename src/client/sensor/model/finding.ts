/** Place of a finding. Lines count from 1. */
export interface FindingPlace {
  readonly location: string;
  readonly line?: number;
  /** The call, the directive or the alias. */
  readonly symbol?: string;
  readonly additionalContext?: string;
}

/** An algorithm in the words of CycloneDX 1.6; equal ones are one asset. */
export interface Algorithm {
  readonly name: string;
  readonly oid?: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

export interface Component {
  readonly type: 'cryptographic-asset';
  readonly name: string;
  readonly 'bom-ref': string;
  readonly cryptoProperties: Readonly<Record<string, unknown>>;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** One thing that was found at one place. What it uses travels with it, so that every batch can be understood by itself. */
export interface SensorFinding {
  readonly place: FindingPlace;
  /** PEM or base64 DER. */
  readonly certificate?: string;
  /** PEM, or a line as in authorized_keys. */
  readonly publicKey?: string;
  readonly component?: Component;
  /** Name by which other findings of the same scan refer to a certificate or public key. */
  readonly ref?: string;
  readonly uses?: readonly Algorithm[];
  readonly dependsOn?: readonly string[];
}

export function refOf({ name, properties }: Algorithm): string {
  return `algorithm ${name} ${JSON.stringify(properties)}`;
}

export function algorithmComponent(algorithm: Algorithm): Component {
  const { name, oid, properties } = algorithm;
  return {
    type: 'cryptographic-asset',
    name,
    'bom-ref': refOf(algorithm),
    cryptoProperties: {
      assetType: 'algorithm',
      ...(oid === undefined ? {} : { oid }),
      algorithmProperties: properties,
    },
  };
}

/** An algorithm that is used at this place. */
export function usedHere(algorithm: Algorithm, place: FindingPlace): SensorFinding {
  return { place, component: algorithmComponent(algorithm) };
}

export interface ProtocolHere {
  /** Common name: `TLS 1.2`, `SSH`. */
  readonly name: string;
  readonly type: 'tls' | 'ssh';
  readonly version?: string;
  readonly suites?: readonly string[];
  readonly uses?: readonly Algorithm[];
  readonly dependsOn?: readonly string[];
}

export function protocolHere(protocol: ProtocolHere, place: FindingPlace): SensorFinding {
  const { name, type, version, suites = [], uses = [], dependsOn = [] } = protocol;
  const cipherSuites = suites.map((suite) => ({ name: suite }));
  const protocolProperties = {
    type,
    ...(version === undefined ? {} : { version }),
    ...(suites.length === 0 ? {} : { cipherSuites }),
  };
  return {
    place,
    component: {
      type: 'cryptographic-asset',
      name,
      'bom-ref': `protocol ${name} ${suites.join(' ')}`,
      cryptoProperties: { assetType: 'protocol', protocolProperties },
    },
    uses,
    dependsOn,
  };
}

/** `mlkem768x25519-sha256` is a KEM, `curve25519-sha256` a key agreement. */
export function keyExchange(name: string): Algorithm {
  return { name, properties: { primitive: /mlkem|sntrup|kyber/i.test(name) ? 'kem' : 'key-agree' } };
}

/** `TLSv1`, `TLSv1.2`, `SSLv3`, as configuration and programs spell them; undefined for another word. */
export function tlsVersion(word: string): { readonly name: string; readonly version: string } | undefined {
  const [, kind, major, minor = '0'] = /^(TLS|SSL)[ _]?v?([123])(?:[._]?([0123]))?$/i.exec(word) ?? [];
  if (kind === undefined || major === undefined) return undefined;
  const version = `${major}.${minor}`;
  return { name: `${kind.toUpperCase()} ${version}`, version };
}
