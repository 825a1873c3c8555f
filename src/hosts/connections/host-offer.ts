import ssh2 from 'ssh2';
import { type KexInit, kexInitIn } from '../../formats/ssh/kex-init.js';
import type { Login } from '../model/ssh-session.port.js';

/** Maximum number of bytes to store. The version line and KEXINIT of known servers are shorter. */
const MAX_BYTES = 64 * 1024;
const MAX_NAMES = 20;
/** Matches pseudo-algorithms in a list of key exchange methods, which announce extensions (RFC 8308, OpenSSH's PROTOCOL). */
const MARKER = /^(?:ext-info-|kex-strict-)/;
const LEGACY = /sha1|^ssh-rsa$|-cbc$/;

/** For each kind of algorithm: a pattern for the SSH library's message, the name in error details, and the list in KEXINIT. */
const SUBJECTS: readonly (readonly [RegExp, string, keyof KexInit])[] = [
  [/key exchange/i, 'key exchange', 'kex'],
  [/host key/i, 'host key', 'hostKey'],
  [/C->S cipher/i, 'cipher', 'ciphersIn'],
  [/S->C cipher/i, 'cipher', 'ciphersOut'],
  [/C->S MAC/i, 'MAC', 'macsIn'],
  [/S->C MAC/i, 'MAC', 'macsOut'],
];

interface Extension {
  readonly name: string;
  readonly algs?: readonly string[];
}

interface WithHandlers {
  readonly _protocol?: {
    readonly _handlers?: Record<string, ((protocol: unknown, extensions: Extension[]) => void) | undefined>;
  };
}

/** HostOffer records the algorithms that a host offers during connection setup, to explain a failure. */
export class HostOffer {
  private received = Buffer.alloc(0);
  private signatureAlgorithms: readonly string[] | undefined;

  constructor(private readonly login: Login) {}

  /** Stores the first bytes from the host, which are not encrypted. */
  take(chunk: Buffer): void {
    if (this.received.length < MAX_BYTES) this.received = Buffer.concat([this.received, chunk]).subarray(0, MAX_BYTES);
  }

  /** Stores the signature algorithms that the host accepts (`server-sig-algs`, RFC 8308), which the SSH library does not expose. */
  followExtensions(client: ssh2.Client): void {
    const handlers = (client as unknown as WithHandlers)._protocol?._handlers;
    const own = handlers?.['EXT_INFO'];
    if (handlers === undefined || own === undefined) return;
    handlers['EXT_INFO'] = (protocol, extensions) => {
      this.signatureAlgorithms ??= extensions.find(({ name }) => name === 'server-sig-algs')?.algs;
      own(protocol, extensions);
    };
  }

  /** Explains an SSH library error such as `no matching key exchange algorithm`. Lists the algorithms that the host offers and suggests how to connect. */
  mismatch(message: string): string {
    const [, subject, list] = SUBJECTS.find(([pattern]) => pattern.test(message)) ?? [];
    const lists = kexInitIn(this.received);
    if (subject === undefined || list === undefined || lists === undefined)
      return 'The host and this service have no algorithm in common.';
    const offered = lists[list].filter((name) => !MARKER.test(name));
    const hint = offered.some((name) => LEGACY.test(name))
      ? ' Update the host, or set legacyAlgorithms to allow SHA-1 and CBC.'
      : '';
    return `The service supports none of the host's ${subject} algorithms: ${shown(offered)}.${hint}`;
  }

  /** Explains why the host may have rejected a correct key. Newer hosts announce which key types they accept. Returns an empty string for a password. */
  loginLead(): string {
    const type = typeOf(this.login);
    const accepted = this.signatureAlgorithms;
    if (type === undefined) return '';
    if (accepted !== undefined && !accepted.some((name) => isBy(type, name)))
      return ` The login key has type ${type}, but the host accepts only ${shown(accepted)} (PubkeyAcceptedAlgorithms).`;
    return ` The host does not have this key for the user, or does not accept keys of type ${type} (PubkeyAcceptedAlgorithms). Check the sshd log of the host.`;
  }
}

function typeOf(login: Login): string | undefined {
  if (login.kind === 'password') return undefined;
  const key =
    login.kind === 'signer'
      ? ssh2.utils.parseKey(login.publicKey)
      : ssh2.utils.parseKey(login.privateKey, login.passphrase);
  return key instanceof Error ? undefined : key.type;
}

/** Reports whether a signature algorithm uses keys of this type. */
function isBy(type: string, algorithm: string): boolean {
  return algorithm === type || (type === 'ssh-rsa' && algorithm.startsWith('rsa-sha2-'));
}

function shown(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ', …' : '';
  return names.slice(0, MAX_NAMES).join(', ') + more;
}
