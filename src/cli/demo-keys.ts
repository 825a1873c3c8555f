import type { INestApplicationContext } from '@nestjs/common';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { webcrypto } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../access/caller.js';
import { KeyVault } from '../hsm/key-vault.js';
import { Config } from '../platform/config/config.js';
import { Problem } from '../platform/errors/problem.js';
import { CertificatesService } from '../signing/certificates/certificates.service.js';
import { type NewSigningKey, SigningKeysService } from '../signing/keys/signing-keys.service.js';

const KEYS = [
  { name: 'default', type: 'ec-p256' },
  { name: 'demo-rsa', type: 'rsa-3072' },
] as const;
const MAX_HSM_START_MS = 20_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const VALID_DAYS = 365;
const DAY_MS = 24 * 3600 * 1000;

/** seedSigningKeys creates the signing keys that the first examples use. Existing keys of the same name are kept. */
export async function seedSigningKeys(app: INestApplicationContext, caller: Caller): Promise<void> {
  const vault = app.get(KeyVault);
  for (let waited = 0; !vault.health().up && waited < MAX_HSM_START_MS; waited += 100) await sleep(100);
  for (const order of KEYS) await createUnlessTaken(app, caller, order);
}

/**
 * seedTimestampKey creates a timestamp authority: an HSM key with a certificate (RFC 3161 section 2.3) issued by a new root, whose private key is discarded
 * immediately. An existing key of the same name is kept.
 */
export async function seedTimestampKey(app: INestApplicationContext, caller: Caller): Promise<void> {
  const order = { name: app.get(Config).tsaKey, type: 'rsa-2048', purpose: 'timestamping' } as const;
  const key = await createUnlessTaken(app, caller, order);
  if (key?.publicKey == null) return;
  await app.get(CertificatesService).importForKey(caller, key.keyId, await trialChain(key.publicKey));
}

async function createUnlessTaken(
  app: INestApplicationContext,
  caller: Caller,
  order: NewSigningKey,
): Promise<Awaited<ReturnType<SigningKeysService['create']>> | undefined> {
  try {
    return await app.get(SigningKeysService).create(caller, order);
  } catch (error) {
    if (error instanceof Problem && error.code === 'signing-key.name-taken') return undefined;
    throw error;
  }
}

/**
 * Returns the timestamp key's certificate and its root as a PEM chain.
 * @param publicKey SubjectPublicKeyInfo of the timestamp key in DER
 */
async function trialChain(publicKey: Uint8Array): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const notBefore = new Date();
  const dates = { notBefore, notAfter: new Date(notBefore.getTime() + VALID_DAYS * DAY_MS) };
  const root = await X509CertificateGenerator.createSelfSigned({
    ...dates,
    keys,
    name: 'CN=Sealwright trial root',
    serialNumber: '01',
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const leaf = await X509CertificateGenerator.create({
    ...dates,
    publicKey,
    signingKey: keys.privateKey,
    issuer: root.subject,
    subject: 'CN=Sealwright trial timestamps',
    serialNumber: '02',
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.timeStamping], true),
      await AuthorityKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return `${leaf.toString('pem')}\n${root.toString('pem')}\n`;
}
