import { fromBrokenBase64 } from '../../formats/encoding/base64.js';

const MAGIC = 'KBXf';
const OPENPGP = 2;
const X509 = 3;
const MIN_HEAD = 20;

/** A keybox of GnuPG (`pubring.kbx`): its first blob is a header with a magic word. */
export function isKeybox(bytes: Buffer): boolean {
  return bytes.length >= 32 && bytes.toString('latin1', 8, 12) === MAGIC;
}

/** The keyrings and certificates (DER) that a keybox holds. @throws RangeError when it is cut short. */
export function readKeybox(bytes: Buffer): { readonly keyrings: Buffer[]; readonly certificates: Buffer[] } {
  const [keyrings, certificates]: [Buffer[], Buffer[]] = [[], []];
  for (let at = 0; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    if (length < 5 || at + length > bytes.length) throw new RangeError('a keybox is cut short');
    const type = bytes.readUInt8(at + 4);
    if ((type === OPENPGP || type === X509) && length >= MIN_HEAD) {
      const start = at + bytes.readUInt32BE(at + 8);
      const end = start + bytes.readUInt32BE(at + 12);
      if (end > at + length) throw new RangeError('a keybox is cut short');
      (type === OPENPGP ? keyrings : certificates).push(bytes.subarray(start, end));
    }
    at += length;
  }
  return { keyrings, certificates };
}

const CHECKSUM = /^=[A-Za-z0-9+/]{4}\s*$/;

/** The bytes of one armored block (RFC 9580 section 6.2): its headers end at an empty line, its checksum is left out. */
export function dearmored(block: string): Buffer {
  const lines = block.split(/\r\n|\r|\n/);
  const head = lines.findIndex((line, index) => index > 0 && line.trim() === '');
  // A block without headers may lack the line; a header has a colon, base64 has none.
  const start = head > 0 && lines.slice(1, head).every((line) => line.includes(': ')) ? head + 1 : 1;
  const body = lines.slice(start, -1).filter((line) => !CHECKSUM.test(line) && !line.includes(':'));
  const bytes = fromBrokenBase64(body.join(''));
  if (bytes === undefined) throw new RangeError('an armored block of something else than base64');
  return bytes;
}
