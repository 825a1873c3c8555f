/** FindingPlace is the location of a finding. Line numbers start at 1. */
export interface FindingPlace {
  readonly location: string;
  readonly line?: number;
  /** Name of the call, directive or alias. */
  readonly symbol?: string;
  readonly additionalContext?: string;
}

/** Algorithm describes an algorithm in CycloneDX 1.6 terms. Findings of equal algorithms become one asset. */
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

/** SensorFinding is an item found at one location. The finding includes the algorithms that the item uses, so that each batch is self-contained. */
export interface SensorFinding {
  readonly place: FindingPlace;
  /** Certificate as PEM or base64 DER. */
  readonly certificate?: string;
  /** Public key as PEM or a line in authorized_keys format. */
  readonly publicKey?: string;
  readonly component?: Component;
  /** Name by which other findings in the same scan refer to the certificate or public key. */
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

/** Returns a finding for the algorithm at the given location. */
export function usedHere(algorithm: Algorithm, place: FindingPlace): SensorFinding {
  return { place, component: algorithmComponent(algorithm) };
}

export interface ProtocolHere {
  /** Common name, such as `TLS 1.2` or `SSH`. */
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

/** Returns the algorithm for a key exchange. `mlkem768x25519-sha256` is a KEM, `curve25519-sha256` a key agreement. */
export function keyExchange(name: string): Algorithm {
  return { name, properties: { primitive: /mlkem|sntrup|kyber/i.test(name) ? 'kem' : 'key-agree' } };
}

/** Parses `TLSv1`, `TLSv1.2` or `SSLv3` in the notations of configuration files and programs. Returns undefined for any other word. */
export function tlsVersion(word: string): { readonly name: string; readonly version: string } | undefined {
  const [, kind, major, minor = '0'] = /^(TLS|SSL)[ _]?v?([123])(?:[._]?([0123]))?$/i.exec(word) ?? [];
  if (kind === undefined || major === undefined) return undefined;
  const version = `${major}.${minor}`;
  return { name: `${kind.toUpperCase()} ${version}`, version };
}
