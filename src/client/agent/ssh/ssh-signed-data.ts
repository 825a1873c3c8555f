import { SSHSIG_HASH_BYTES, SSHSIG_MAGIC } from '../../../formats/ssh/sshsig.js';
import { WireReader } from '../../../formats/ssh/wire.js';
import type { AgentPurpose } from '../signer/purposes.js';

/** Content of a sign request, which is a complete message of a supported kind. */
interface ReadData {
  readonly purpose: Extract<AgentPurpose, 'ssh-login' | 'ssh-signatures'>;
  /** Information for approvers, read from the data itself. */
  readonly shown: Readonly<Record<string, string>>;
  /** Signature algorithm named in a login. Undefined for SSHSIG, which does not name an algorithm. */
  readonly algorithm: string | undefined;
}

const USERAUTH_REQUEST = 50;
/** Possible lengths of a key exchange hash. */
const SESSION_ID_BYTES = [20, 32, 48, 64];
const METHODS = ['publickey', 'publickey-hostbound-v00@openssh.com'];
const MAX_TEXT_BYTES = 1024;
const CONTROL = /\p{C}/u;

/**
 * Parses data that the agent is requested to sign. Returns undefined unless the data is a complete SSHSIG message (OpenSSH's PROTOCOL.sshsig) or a complete
 * login (RFC 4252 section 7) with the given key.
 */
export function readSignedData(data: Buffer, key: Buffer): ReadData | undefined {
  try {
    return data.subarray(0, SSHSIG_MAGIC.length).equals(SSHSIG_MAGIC) ? sshsigIn(data) : loginIn(data, key);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function sshsigIn(data: Buffer): ReadData | undefined {
  const reader = new WireReader(data, SSHSIG_MAGIC.length);
  const [namespace, reserved, hash, digest] = [plain(reader), reader.string(), plain(reader), reader.string()];
  if (!reader.done || namespace === '' || reserved.length > 0 || digest.length !== SSHSIG_HASH_BYTES[hash])
    return undefined;
  const shown = { protocol: 'SSH signature', namespace, hash, messageDigest: digest.toString('hex') };
  return { purpose: 'ssh-signatures', shown, algorithm: undefined };
}

function loginIn(data: Buffer, key: Buffer): ReadData | undefined {
  const reader = new WireReader(data);
  const sessionId = reader.string();
  const isRequest = SESSION_ID_BYTES.includes(sessionId.length) && reader.byte() === USERAUTH_REQUEST;
  const [user, service, method] = [plain(reader), plain(reader), plain(reader)];
  const hasSignature = reader.byte();
  const algorithm = plain(reader);
  const isByKey = reader.string().equals(key);
  const hostKey = method === METHODS[1] ? reader.string() : undefined;
  if (!isRequest || hasSignature !== 1 || !isByKey || !reader.done) return undefined;
  if (user === '' || service !== 'ssh-connection' || !METHODS.includes(method)) return undefined;
  const shown: Record<string, string> = { protocol: 'SSH login', user, session: sessionId.toString('hex') };
  if (hostKey !== undefined) shown['hostKey'] = hostKey.toString('base64');
  return { purpose: 'ssh-login', shown, algorithm };
}

/**
 * Reads text that can be displayed safely.
 *
 * @throws RangeError for any other text
 */
function plain(reader: WireReader): string {
  const bytes = reader.string();
  const text = bytes.toString('utf8');
  if (bytes.length > MAX_TEXT_BYTES || CONTROL.test(text) || !Buffer.from(text).equals(bytes))
    throw new RangeError('unprintable text');
  return text;
}
