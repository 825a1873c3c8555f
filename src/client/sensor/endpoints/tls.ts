import { connect, type ConnectionOptions, type SecureVersion, type TLSSocket } from 'node:tls';
import { type SensorFinding, keyExchange, protocolHere, refOf, tlsVersion, usedHere } from '../model/finding.js';
import { type Endpoint, serverName } from './endpoint.js';

const VERSIONS: readonly SecureVersion[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];
const CONNECT_MS = 6000;
const MAX_SUITES = 60;
const MAX_CHAIN = 10;
/** Cipher list that includes weak suites. OpenSSL enables old protocol versions only with security level 0. */
const ANY_CIPHER = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0';

interface Handshake {
  readonly suite: string;
  /** Name of the cipher suite in OpenSSL. */
  readonly cipher: string;
  readonly group: string | undefined;
  readonly chain: readonly Buffer[];
}

/** Finds the versions, suites and key exchanges that a TLS server accepts, and its certificates. Throws if the server does not respond. */
export async function tlsFindings(endpoint: Endpoint): Promise<SensorFinding[]> {
  const place = { location: endpoint.name };
  const spoken: { version: string; suites: string[]; groups: Set<string> }[] = [];
  let chain: readonly Buffer[] = [];
  let failure: unknown;
  for (const version of VERSIONS) {
    try {
      const handshakes = await suitesOf(endpoint, version);
      chain = handshakes[0]?.chain ?? chain;
      const groups = new Set(handshakes.map(({ group }) => group).filter((group) => group !== undefined));
      if (handshakes.length > 0) spoken.push({ version, suites: handshakes.map(({ suite }) => suite), groups });
    } catch (error) {
      failure = error;
    }
  }
  if (spoken.length === 0) throw failure ?? new Error('does not support any known TLS version');
  const exchanges = [...new Set(spoken.flatMap(({ groups }) => [...groups]))].map(keyExchange);
  const certificates = chain.map((der, i): SensorFinding => ({ place, ref: `certificate ${endpoint.name} ${i}`, certificate: der.toString('base64') })); // prettier-ignore
  const leaf = certificates.slice(0, 1).map(({ ref = '' }) => ref);
  const protocols = spoken.map(({ version, suites, groups }) => {
    const uses = [...groups].map(keyExchange);
    const named = tlsVersion(version) ?? { name: version, version };
    return protocolHere({ ...named, type: 'tls', suites, uses, dependsOn: [...uses.map(refOf), ...leaf] }, place);
  });
  return [...exchanges.map((algorithm) => usedHere(algorithm, place)), ...certificates, ...protocols];
}

/**
 * Repeats the handshake, each time without the suites that the server has already chosen, until the server rejects the handshake. Throws if the server cannot
 * be reached.
 */
async function suitesOf(endpoint: Endpoint, version: SecureVersion): Promise<Handshake[]> {
  const found: Handshake[] = [];
  while (found.length < MAX_SUITES) {
    const next = await handshake(endpoint, version, found.map(({ cipher }) => cipher)); // prettier-ignore
    if (next === undefined || found.some(({ cipher }) => cipher === next.cipher)) return found;
    found.push(next);
    // All TLS 1.3 suites are strong, so the server's first choice is sufficient.
    if (version === 'TLSv1.3') return found;
  }
  return found;
}

/** Performs a handshake. Returns undefined if the server rejects the handshake. Throws if the server cannot be reached. */
function handshake(
  endpoint: Endpoint,
  version: SecureVersion,
  without: readonly string[],
): Promise<Handshake | undefined> {
  const { host, port } = endpoint;
  const servername = serverName(endpoint);
  const options: ConnectionOptions = {
    host,
    port,
    minVersion: version,
    maxVersion: version,
    // Certificates are only listed, not trusted.
    rejectUnauthorized: false,
    ciphers: [...(version === 'TLSv1.3' ? ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'] : []), ANY_CIPHER, ...without.map((cipher) => `!${cipher}`)].join(':'), // prettier-ignore
    ...(servername === undefined ? {} : { servername }),
  };
  return new Promise((resolve, reject) => {
    const socket = connect(options, () => {
      const shaken = read(socket);
      socket.destroy();
      resolve(shaken);
    });
    let reached = false;
    socket.once('connect', () => (reached = true));
    socket.setTimeout(CONNECT_MS, () => socket.destroy(new Error('did not respond in time')));
    socket.once('error', (error) => (reached ? resolve(undefined) : reject(error)));
  });
}

function read(socket: TLSSocket): Handshake {
  const { standardName, name } = socket.getCipher();
  const exchange: { type?: string; name?: string; size?: number } | null = socket.getEphemeralKeyInfo();
  const dh = exchange?.type === 'DH' ? `ffdhe${exchange.size}` : undefined;
  const chain: Buffer[] = [];
  for (
    let at = socket.getPeerCertificate(true);
    at?.raw !== undefined && chain.length < MAX_CHAIN;
    at = at.issuerCertificate
  ) {
    if (chain.some((der) => der.equals(at.raw))) break;
    chain.push(at.raw);
  }
  return { suite: standardName, cipher: name, group: exchange?.name ?? dh, chain };
}
