import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { ProbeFault } from '../probing/bounded-stream.js';
import { type Choice, type Offer, exchangeHellos } from './client-hello.js';
import { GROUPS, isPostQuantumGroup, SUITES_12, SUITES_13, VERSIONS } from './tls-names.js';
import { truncate } from '../../platform/text/truncate.js';

/** TlsFacts describes the versions, cipher suites and groups that a TLS server accepts if the probe offers them. Names are as in the IANA registries. */
export interface TlsFacts {
  readonly versions: string[];
  /** Cipher suites by version, in the server's order of preference if the server has one, otherwise in the order of the offer. */
  readonly suites: Record<string, string[]>;
  /** Groups accepted in TLS 1.3, and for ECDHE key exchanges in earlier versions. */
  readonly groups: string[];
  readonly postQuantum: string[];
  /** Certificate chain in DER, starting with the server certificate; empty if no handshake completed. */
  readonly chain: Buffer[];
  /** Reason why this machine's trust store rejects the chain; null if the chain is trusted. */
  readonly distrust: string | null;
  /** Version and cipher suite negotiated in a full handshake. */
  readonly agreed: { readonly version: string; readonly suite: string } | null;
}

const ALL_GROUPS = Object.values(GROUPS);
const CLASSIC_GROUPS = ['x25519', 'secp256r1', 'x448', 'secp521r1', 'secp384r1'];
/** All groups that the local TLS library supports. With the library's default groups, a handshake with a server that accepts only post-quantum groups fails. */
const CURVES =
  'X25519MLKEM768:SecP256r1MLKEM768:SecP384r1MLKEM1024:MLKEM768:MLKEM1024:MLKEM512:X25519:P-256:X448:P-384:P-521';

/** Time limit for all connections to one server. */
const MAX_MS = 60_000;
const HANDSHAKE_MS = 6000;

/** probeTls probes a TLS server. Throws ProbeFault if the server does not respond or does not speak TLS. */
export async function probeTls(host: string, port: number, name?: string): Promise<TlsFacts> {
  const until = performance.now() + MAX_MS;
  const hello = async (offer: Omit<Offer, 'name'>): Promise<Choice | undefined> => {
    if (performance.now() > until) throw new ProbeFault('timeout', 'took too long to respond');
    return exchangeHellos(host, port, { ...offer, name });
  };
  const suites: Record<string, string[]> = {};
  for (const [version, code] of Object.entries(VERSIONS)) {
    const table = version === 'TLS 1.3' ? SUITES_13 : SUITES_12;
    const taken = await byElimination(table, (left) => hello({ version: code, suites: left, groups: ALL_GROUPS }), {
      isOurs: (choice) => choice.version === code,
      of: ({ suite }) => suite,
    });
    if (taken.length > 0) suites[version] = taken;
  }
  const groups = await acceptedGroups(hello, suites);
  if (Object.keys(suites).length === 0) throw new ProbeFault('malformed', 'does not accept any known TLS version');
  const handshake = await fullHandshake(host, port, name);
  return {
    versions: Object.keys(suites),
    suites,
    groups,
    postQuantum: groups.filter(isPostQuantumGroup),
    ...handshake,
  };
}

type Hello = (offer: Omit<Offer, 'name'>) => Promise<Choice | undefined>;

async function acceptedGroups(hello: Hello, suites: Record<string, string[]>): Promise<string[]> {
  const version = VERSIONS['TLS 1.3'] as number;
  const found =
    suites['TLS 1.3'] === undefined
      ? []
      : await byElimination(GROUPS, (left) => hello({ version, suites: Object.values(SUITES_13), groups: left }), {
          isOurs: (choice) => choice.version === version,
          of: ({ group = 0 }) => group,
        });
  const below = Object.keys(suites).find((name) => name !== 'TLS 1.3' && suites[name]?.some(isEllipticCurve));
  if (below === undefined) return found;
  const offered = (suites[below] ?? []).filter(isEllipticCurve).map((name) => SUITES_12[name] as number);
  for (const name of CLASSIC_GROUPS.filter((group) => !found.includes(group))) {
    const choice = await hello({
      version: VERSIONS[below] as number,
      suites: offered,
      groups: [GROUPS[name] as number],
    });
    if (choice !== undefined) found.push(name);
  }
  return found;
}

const isEllipticCurve = (suite: string): boolean => suite.startsWith('TLS_ECDHE_');

interface Reading {
  readonly isOurs: (choice: Choice) => boolean;
  readonly of: (choice: Choice) => number;
}

/**
 * Offers all remaining values and removes the value that the server chose, until the server accepts none of the remaining values. Opens one connection more
 * than the number of accepted values.
 */
async function byElimination(
  table: Record<string, number>,
  ask: (left: number[]) => Promise<Choice | undefined>,
  { isOurs, of }: Reading,
): Promise<string[]> {
  const left = new Map(Object.entries(table).map(([name, code]) => [code, name]));
  const taken: string[] = [];
  while (left.size > 0) {
    const choice = await ask([...left.keys()]);
    if (choice === undefined || !isOurs(choice)) break;
    const name = left.get(of(choice));
    if (name === undefined) break; // The server chose a value that was not offered, which violates TLS.
    left.delete(of(choice));
    taken.push(name);
  }
  return taken;
}

/**
 * TLS context that accepts every version and every cipher suite except finite-field Diffie-Hellman, in which the server chooses the group and a handshake can
 * take seconds. All handshakes share one context, because the garbage collector does not account for a context's native memory.
 */
let permissiveContext: SecureContext | undefined;

function fullHandshake(
  host: string,
  port: number,
  name?: string,
): Promise<Pick<TlsFacts, 'chain' | 'distrust' | 'agreed'>> {
  const nothing = { chain: [], distrust: null, agreed: null };
  return new Promise((resolve) => {
    permissiveContext ??= createSecureContext({
      ecdhCurve: CURVES,
      minVersion: 'TLSv1',
      ciphers: 'ALL:!kDHE:@SECLEVEL=0',
    });
    const socket = connect({
      host,
      port,
      servername: name,
      rejectUnauthorized: false,
      secureContext: permissiveContext,
    });
    const timer = setTimeout(() => end(nothing), HANDSHAKE_MS);
    const end = (facts: Pick<TlsFacts, 'chain' | 'distrust' | 'agreed'>) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(facts);
    };
    socket.once('error', () => end(nothing));
    socket.once('close', () => end(nothing));
    socket.once('secureConnect', () => {
      const distrust = socket.authorized ? null : truncate(String(socket.authorizationError), 100);
      const agreed = { version: socket.getProtocol() ?? '', suite: socket.getCipher().standardName };
      end({ chain: chainOf(socket.getPeerX509Certificate()), distrust, agreed });
    });
  });
}

type PeerCertificate = ReturnType<import('node:tls').TLSSocket['getPeerX509Certificate']>;

function chainOf(leaf: PeerCertificate): Buffer[] {
  const chain: Buffer[] = [];
  for (let one = leaf; one !== undefined && chain.length < 10; one = one.issuerCertificate) {
    if (chain.some((known) => known.equals(one?.raw ?? known))) break;
    chain.push(one.raw);
  }
  return chain;
}
