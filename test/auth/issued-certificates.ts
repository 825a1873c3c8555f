import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  Extension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { createHash, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto';

const ES256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY_MS = 24 * 3600 * 1000;
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

/** A client certificate and its key, in the formats for TLS and for a proxy header. */
export interface ClientCertificate {
  readonly name: string;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly key: string;
  readonly cert: string;
  /** Certificate thumbprint (`x5t#S256`). */
  readonly thumbprint: string;
  /** Value of the Client-Cert header (RFC 9440). */
  readonly header: string;
}

interface Terms {
  readonly by?: ClientCertificate;
  /** SAN URI of the certificate; if undefined, the certificate is a CA certificate. */
  readonly uri?: string;
  /** Days until the certificate expires; negative for an expired certificate. */
  readonly until?: number;
}

/** Issues a certificate. Without `by`, the certificate is self-signed. */
export async function issue(name: string, { by, uri, until = 2 }: Terms = {}): Promise<ClientCertificate> {
  const keys = await webcrypto.subtle.generateKey(ES256, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.create({
    issuer: by?.name ?? name,
    subject: name,
    signingKey: (by?.keys ?? keys).privateKey,
    publicKey: keys.publicKey,
    signingAlgorithm: ES256,
    serialNumber: `01${randomBytes(8).toString('hex')}`,
    notBefore: new Date(Date.now() - 3 * DAY_MS),
    notAfter: new Date(Date.now() + until * DAY_MS),
    extensions: extensionsOf(uri),
  });
  const { raw } = new X509Certificate(Buffer.from(made.rawData));
  return {
    name,
    keys,
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `${made.toString('pem')}\n`,
    thumbprint: createHash('sha256').update(raw).digest('base64url'),
    header: `:${raw.toString('base64')}:`,
  };
}

function extensionsOf(uri: string | undefined): Extension[] {
  if (uri === undefined)
    return [new BasicConstraintsExtension(true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)];
  return [
    new ExtendedKeyUsageExtension([CLIENT_AUTH]),
    new SubjectAlternativeNameExtension([{ type: 'url', value: uri }]),
  ];
}
