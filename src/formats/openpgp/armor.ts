import { fromBrokenBase64 } from '../encoding/base64.js';

const CHECKSUM = /^=[A-Za-z0-9+/]{4}\s*$/;

/** Decodes one armored block (RFC 9580 section 6.2). Headers end at an empty line. The checksum is ignored. */
export function dearmored(block: string): Buffer {
  const lines = block.split(/\r\n|\r|\n/);
  const head = lines.findIndex((line, index) => index > 0 && line.trim() === '');
  // A block without headers may lack the empty line. A header contains a colon, base64 does not.
  const start = head > 0 && lines.slice(1, head).every((line) => line.includes(': ')) ? head + 1 : 1;
  const body = lines.slice(start, -1).filter((line) => !CHECKSUM.test(line) && !line.includes(':'));
  const bytes = fromBrokenBase64(body.join(''));
  if (bytes === undefined) throw new RangeError('the armored block is not base64');
  return bytes;
}

type ArmorLabel = 'PUBLIC KEY BLOCK' | 'SIGNATURE' | 'MESSAGE';

const LINE = /.{1,64}/g;
const CRC_START = 0xb704ce;
const CRC_POLYNOMIAL = 0x1864cfb;

/** Returns packets in ASCII armor (RFC 9580 section 6.2) with the optional checksum, because rpm rejects blocks without a checksum. */
export function armored(label: ArmorLabel, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(LINE) ?? [];
  const head = `-----BEGIN PGP ${label}-----`;
  return [head, '', ...lines, `=${checksum(bytes)}`, `-----END PGP ${label}-----`, ''].join('\n');
}

/** Returns the base64 CRC-24 (RFC 9580 section 6.1.1). */
function checksum(bytes: Buffer): string {
  let crc = CRC_START;
  for (const octet of bytes) {
    crc ^= octet << 16;
    for (let bit = 0; bit < 8; bit += 1) {
      crc <<= 1;
      if ((crc & 0x1000000) !== 0) crc ^= CRC_POLYNOMIAL;
    }
  }
  return Buffer.from([(crc >> 16) & 0xff, (crc >> 8) & 0xff, crc & 0xff]).toString('base64');
}
