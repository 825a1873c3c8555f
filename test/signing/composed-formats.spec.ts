import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { ImposterAuthority } from '../support/swapped-certificates.js';
import { COMPOSED_FORMATS } from '../../src/approvals/policies/key-use.port.js';
import { nullValue, sequence } from '../../src/formats/asn1/der-writer.js';
import { FORMAT_WRITERS, type WrappedFormat } from '../../src/signing/formats/format-writers.js';

const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' });
const ORDER = {
  digest: Buffer.alloc(32),
  algorithm: 'sha256',
  scheme: 'ecdsa-der',
  keyType: 'ec-p256',
  publicKey,
  keyName: 'key.1',
  chain: [new ImposterAuthority('Example').certify({ subject: 'Release', publicKey }).raw],
  madeAt: new Date(),
  content: sequence(nullValue),
} as const;

/** Reports whether the key signs the caller's digest directly, which is the case for OpenPGP, whose writer only validates the content. */
function signsTheDigest(format: WrappedFormat): boolean {
  return format === 'openpgp' || FORMAT_WRITERS[format].toBeSigned(ORDER, new Date()) === undefined;
}

/** Formats in which callers choose so much of the signed content that the signature can be transferred to another document. */
const MOVABLE = ['cms', 'jws'];

it('policies know for each format whether a key signs the digest of the caller or composed content', () => {
  const formats = Object.keys(FORMAT_WRITERS) as WrappedFormat[];
  const composed = formats.filter((format) => !signsTheDigest(format));
  expect(composed.sort()).toEqual([...COMPOSED_FORMATS, ...MOVABLE].sort());
});
