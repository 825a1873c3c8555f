import { WireReader } from './wire.js';

/** KexInit contains the lists of KEXINIT (RFC 4253 section 7.1), in the server's order of preference. */
export interface KexInit {
  readonly kex: string[];
  readonly hostKey: string[];
  readonly ciphersIn: string[];
  readonly ciphersOut: string[];
  readonly macsIn: string[];
  readonly macsOut: string[];
  readonly compressionIn: string[];
  readonly compressionOut: string[];
  readonly languagesIn: string[];
  readonly languagesOut: string[];
}

export const KEX_INIT_LISTS = [
  'kex',
  'hostKey',
  'ciphersIn',
  'ciphersOut',
  'macsIn',
  'macsOut',
  'compressionIn',
  'compressionOut',
  'languagesIn',
  'languagesOut',
] as const satisfies readonly (keyof KexInit)[];

export const KEX_INIT_MESSAGE = 20;
const COOKIE_BYTES = 16;
const HEAD_BYTES = 5;
const MAX_NAME = 64;

/** Reads the lists after the message number. Throws the reader's error if the message ends too early. */
export function readKexInitLists(reader: WireReader): KexInit {
  reader.skip(COOKIE_BYTES);
  return Object.fromEntries(KEX_INIT_LISTS.map((name) => [name, nameListOf(reader)])) as unknown as KexInit;
}

/**
 * Reads KEXINIT from the first bytes that a server sends: its version line and an unencrypted packet (RFC 4253 sections 4.2 and 6). Undefined if KEXINIT is
 * missing or incomplete.
 */
export function kexInitIn(bytes: Buffer): KexInit | undefined {
  const version = bytes.indexOf('SSH-');
  const end = version === -1 ? -1 : bytes.indexOf('\n', version);
  const packet = bytes.subarray(end + 1);
  if (end === -1 || packet.length <= HEAD_BYTES) return undefined;
  const payload = packet.subarray(HEAD_BYTES, 4 + packet.readUInt32BE());
  if (payload[0] !== KEX_INIT_MESSAGE) return undefined;
  try {
    return readKexInitLists(new WireReader(payload, 1));
  } catch {
    return undefined;
  }
}

/** Reads a name-list (RFC 4251 section 5). Nonprintable characters are replaced with `?`. */
function nameListOf(reader: WireReader): string[] {
  const text = reader.string().toString('latin1');
  return text === '' ? [] : text.split(',').map((name) => name.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, MAX_NAME));
}
