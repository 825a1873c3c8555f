import { WireReader } from './wire.js';

/** The lists of KEXINIT (RFC 4253 section 7.1), in the order of the server's preference. */
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

/** Reads the lists behind the message number. Throws the error of the reader when the message ends too early. */
export function readKexInitLists(reader: WireReader): KexInit {
  reader.skip(COOKIE_BYTES);
  return Object.fromEntries(KEX_INIT_LISTS.map((name) => [name, nameListOf(reader)])) as unknown as KexInit;
}

/**
 * Reads the KEXINIT out of what a server sent first: its version line and an unencrypted packet (RFC 4253 sections 4.2 and 6). Undefined when it is not
 * there, or not whole.
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

/** A name-list (RFC 4251 section 5), with what is not printable shown as `?`. */
function nameListOf(reader: WireReader): string[] {
  const text = reader.string().toString('latin1');
  return text === '' ? [] : text.split(',').map((name) => name.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, MAX_NAME));
}
