const PBES2 = '1.2.840.113549.1.5.13';
const DES3 = '1.2.840.113549.1.12.1.3';

function der(tag: number, ...parts: Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const head = Buffer.from([tag, 0x84, 0, 0, 0, 0]);
  head.writeUInt32BE(contents.length, 2);
  return Buffer.concat([head, contents]);
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const arcs = [first * 40 + second, ...rest].map((arc) => {
    const octets = [arc & 0x7f];
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      octets.unshift((left & 0x7f) | 0x80);
    return Buffer.from(octets);
  });
  return der(6, ...arcs);
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUIntBE(value, 0, 5);
  return der(2, bytes);
}

const octets = (bytes: Buffer) => der(4, bytes);
const salt = octets(Buffer.alloc(8, 1));

function encryption(scheme: 'PBES2' | '3DES', rounds: number): Buffer {
  if (scheme === '3DES') return der(0x30, oid(DES3), der(0x30, salt, integer(rounds)));
  const prf = der(0x30, oid('1.2.840.113549.2.9'), der(5));
  const kdf = der(0x30, oid('1.2.840.113549.1.5.12'), der(0x30, salt, integer(rounds), prf));
  const cipher = der(0x30, oid('2.16.840.1.101.3.4.1.42'), octets(Buffer.alloc(16)));
  return der(0x30, oid(PBES2), der(0x30, kdf, cipher));
}

/**
 * Builds a PKCS #12 store (RFC 7292) with `parts` encrypted parts. Decrypting a part requires `rounds` rounds of key derivation. No password opens the store.
 */
export function costlyStore(parts: number, scheme: 'PBES2' | '3DES', rounds: number): Buffer {
  const info = der(0x30, oid('1.2.840.113549.1.7.1'), encryption(scheme, rounds), der(0x80, Buffer.alloc(16)));
  const part = der(0x30, oid('1.2.840.113549.1.7.6'), der(0xa0, der(0x30, integer(0), info)));
  const safe = octets(der(0x30, ...Array.from({ length: parts }, () => part)));
  return der(0x30, Buffer.from([2, 1, 3]), der(0x30, oid('1.2.840.113549.1.7.1'), der(0xa0, safe)));
}
