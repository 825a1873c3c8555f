import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { ImposterAuthority } from '../support/swapped-certificates.js';
import { certificateCheckOf } from '../../src/signing/verification/certificate-check.js';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = publicKey.export({ type: 'spki', format: 'der' });
const authority = new ImposterAuthority('Example Issuing');
const certified = (days: number) => authority.certify({ subject: 'Release signing', publicKey: spki, days });
const bare = {
  scheme: 'ecdsa-der',
  algorithm: 'sha256',
  signedDigest: Buffer.alloc(32),
  signature: Buffer.alloc(70),
} as const;
const version = (...leaves: ReturnType<typeof certified>[]) => ({
  version: 1,
  publicKey: spki,
  madeAt: new Date(),
  chains: leaves.map((leaf) => [leaf, authority.certificate]),
});
const LATER = new Date(Date.now() + 100 * 24 * 3600 * 1000);

it('an expired onboarded certificate is not replaced by a valid one that only the message contains', () => {
  const [expired, fresh] = [certified(30), certified(300)];
  const carried = (leaf: typeof expired) => ({ ...bare, certificates: [leaf, authority.certificate] });
  expect(certificateCheckOf(carried(expired), version(expired), LATER)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('expired'),
  });
  expect(certificateCheckOf(carried(fresh), version(expired), LATER)).toMatchObject({
    ok: false,
    detail: expect.stringContaining('was not imported'),
  });
});

it('a signature is checked with the certificate it carries, even if a valid one was onboarded later', () => {
  const [expired, fresh] = [certified(30), certified(300)];
  const both = version(fresh, expired);
  expect(certificateCheckOf({ ...bare, certificates: [expired] }, both, LATER)).toMatchObject({ ok: false });
  expect(certificateCheckOf({ ...bare, certificates: [fresh] }, both, LATER)).toMatchObject({ ok: true });
});

it('a signature without a certificate is checked against each one onboarded for its key', () => {
  const [expired, fresh] = [certified(30), certified(300)];
  const none = { ...bare, certificates: [] };
  expect(certificateCheckOf(none, version(expired, fresh), LATER)).toMatchObject({ ok: true, certificate: fresh });
  expect(certificateCheckOf(none, version(expired), LATER)).toMatchObject({ ok: false });
  expect(certificateCheckOf(none, version(), LATER)).toBeUndefined();
});
