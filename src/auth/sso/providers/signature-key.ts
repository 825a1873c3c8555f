import 'reflect-metadata';
import { Name, X509CertificateGenerator } from '@peculiar/x509';
import { randomBytes, webcrypto } from 'node:crypto';
import { truncate } from '../../../platform/text/truncate.js';
import { writePem } from '../../../formats/encoding/base64.js';

/** RSA with SHA-256, which every provider supports. */
const ALGORITHM = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 3072,
  publicExponent: new Uint8Array([1, 0, 1]),
} as const;
/**
 * Validity period of the certificate, in years. The period exceeds the lifetime of an installation, because providers pin the certificate and a new certificate
 * must be installed manually.
 */
const VALID_YEARS = 20;
/** Maximum length of a common name (ub-common-name, RFC 5280 appendix A.1). */
const MAX_COMMON_NAME = 64;

/** A private key with which the service signs messages to an identity provider. */
export interface SignatureKey {
  /** PEM, PKCS #8. */
  readonly privateKey: string;
  /** PEM. The certificate is self-signed, because providers pin it. */
  readonly certificate: string;
}

/** Creates an RSA key with its certificate. */
export async function newSignatureKey(commonName: string): Promise<SignatureKey> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const notBefore = new Date();
  const notAfter = new Date(notBefore);
  notAfter.setFullYear(notBefore.getFullYear() + VALID_YEARS);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    name: new Name([{ CN: [{ utf8String: truncate(commonName, MAX_COMMON_NAME) }] }]).toJSON(),
    serialNumber: newSerialNumber(),
    notBefore,
    notAfter,
    signingAlgorithm: ALGORITHM,
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  return {
    privateKey: writePem('PRIVATE KEY', pkcs8),
    certificate: writePem('CERTIFICATE', Buffer.from(certificate.rawData)),
  };
}

/** Returns a serial number: hexadecimal, 16 bytes, positive and without leading zeros (RFC 5280 section 4.1.2.2). */
function newSerialNumber(): string {
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8() & 0x3f) | 0x40);
  return serial.toString('hex');
}
