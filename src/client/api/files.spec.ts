import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { pgpPacket, PGP_TAG } from '../../formats/openpgp/packets.js';
import { foreignSignature } from './files.js';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const OLD_FRAMING = Buffer.concat([Buffer.from([0x89, 0x01, 0x2c, 4]), Buffer.alloc(299)]);

describe('a signature file next to the verified file', () => {
  it.each([0x88, 0x89, 0xc2])('is a raw signature even if it starts with %i, like an OpenPGP packet', (first) => {
    for (let length = 1; length < 8; length += 1)
      expect(foreignSignature(Buffer.alloc(length, first), 'raw')).toBeUndefined();
    const signature = sign('sha256', Buffer.from('a file'), privateKey);
    signature[0] = first;
    expect(foreignSignature(signature, 'raw')).toBeUndefined();
  });

  it.each([
    ['the new framing', pgpPacket({ tag: PGP_TAG.signature, body: Buffer.alloc(300, 4) })],
    ['the old framing', OLD_FRAMING],
    ['armor', Buffer.from('-----BEGIN PGP SIGNATURE-----\n')],
  ])('is reported as an OpenPGP signature in %s, with the tool that verifies it', (_, content) => {
    expect(foreignSignature(content, 'raw')).toMatch(/gpg --verify/);
  });
});
