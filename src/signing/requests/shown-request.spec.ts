import { expect, it } from 'vitest';
import { PGP_SUBPACKET } from '../../formats/openpgp/signatures.js';
import { PGP_SIGNATURE, subpacket, writeHashedPart } from '../../formats/openpgp/signature-packet.js';
import type { SigningRequest } from '../signing-request.entity.js';
import { shownRequest } from './shown-request.js';

const titled = (filename: string) =>
  shownRequest(
    { digest: Buffer.alloc(32), keyName: 'release', metadata: { filename } } as unknown as SigningRequest,
    undefined,
  ).title;

it.each([
  ['spaces that push the end of a name out of sight', `app.tar.gz${' '.repeat(90)}.exe`, 'app.tar.gz .exe'],
  ['a name that is longer than a title', `${'a'.repeat(100)}.exe`, `${'a'.repeat(79)}…`],
  ['characters that turn the text round', 'photo\u202egpj.exe', 'photo gpj.exe'],
  ['line separators', 'a\u2028b\nc', 'a b c'],
  ['URLs, which mail programs would make links of', 'a: see https://evil.example/1', 'a: see https: //evil.example/1'],
])('an approval title shows %s', (_, filename, shown) => {
  expect(titled(filename)).toBe(`Sign ${shown} with the key release`);
});

const shownOf = (format: string, envelope: object, metadata: object = {}) =>
  shownRequest(
    { digest: Buffer.alloc(32), keyName: 'release', format, metadata, reference: null } as unknown as SigningRequest,
    { content: null, toBeSigned: null, signedDigest: null, timestamped: false, ...envelope },
  ).shown;

it('an approval of an OpenPGP signature shows what the signature states', () => {
  const notation = Buffer.concat([Buffer.from([0x80, 0, 0, 0, 0, 3, 0, 2]), Buffer.from('a@b\n1')]);
  const subpackets = [
    subpacket(PGP_SUBPACKET.created, 1_700_000_000),
    subpacket(PGP_SUBPACKET.signatureExpiry, 60),
    subpacket(PGP_SUBPACKET.signersUserId, Buffer.from('CEO <ceo@example.com>')),
    subpacket(PGP_SUBPACKET.notation, notation),
    subpacket(PGP_SUBPACKET.policyUri, Buffer.from('https://example.com/policy')),
  ];
  const part = { algorithm: 19, hash: 'sha256', subpackets } as const;
  const content = writeHashedPart({ ...part, type: PGP_SIGNATURE.binary });
  const shown = shownOf('openpgp', { content });
  expect(shown['openpgp']).toEqual({
    type: 'document',
    createdAt: '2023-11-14T22:13:20.000Z',
    expiresAt: '2023-11-14T22:14:20.000Z',
    userIds: ['CEO <ceo@example.com>'],
    notations: ['a@b=0x0a31'],
    policyUris: ['https://example.com/policy'],
  });
  expect(shown['composedBy']).toBeUndefined();
  const statement = writeHashedPart({ ...part, type: PGP_SIGNATURE.certification });
  expect(shownOf('openpgp', { content: statement })['composedBy']).toBe('service');
});
