import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = /^sw_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

export interface ApiKeyText {
  /** The whole key: `sw_<12 lookup>_<32 secret><6 checksum>`, with underscores so that a double click selects the whole key. */
  readonly key: string;
  readonly lookup: string;
  readonly secretHash: Buffer;
}

export function newApiKeyText(): ApiKeyText {
  const lookup = randomText(12);
  const secret = randomText(32);
  return { key: `sw_${lookup}_${secret}${checksum(lookup, secret)}`, lookup, secretHash: hash(secret) };
}

/** Parses an API key. Returns undefined if the string has the wrong format or checksum, so that typos and keys of other products never reach the database. */
export function readApiKeyText(key: string): Omit<ApiKeyText, 'key'> | undefined {
  const [, lookup, secret, sum] = SHAPE.exec(key) ?? [];
  if (lookup === undefined || secret === undefined || sum !== checksum(lookup, secret)) return undefined;
  return { lookup, secretHash: hash(secret) };
}

function hash(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function randomText(length: number): string {
  return Array.from({ length }, () => BASE62[randomInt(62)]).join('');
}

/** Returns the CRC-32 in base62, by which secret scanners recognize a real key without calling the service. */
function checksum(lookup: string, secret: string): string {
  let rest = crc32(`${lookup}_${secret}`);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = `${BASE62[rest % 62]}${text}`;
    rest = Math.floor(rest / 62);
  }
  return text;
}
