import { AsnConvert } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  Certificate,
  Name,
  RelativeDistinguishedName,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import { generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { truncate } from '../../platform/text/truncate.js';

/** sha256WithRSAEncryption and commonName. */
const RSA_SHA256 = '1.2.840.113549.1.1.11';
const COMMON_NAME = '2.5.4.3';
/** Nobody can be told of another certificate without touching the provider: it is pinned there, and outlives the installation. */
const YEARS = 20;

export interface SamlKey {
  /** PEM, PKCS#8. */
  readonly privateKey: string;
  /** PEM; signed by itself, since providers pin it. */
  readonly certificate: string;
}

/** A key that signs what we say to a SAML provider, RSA because every provider knows it, with its certificate. */
export async function newSamlKey(commonName: string): Promise<SamlKey> {
  const { privateKey, publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 3072 });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: certificateOf(commonName, publicKey, privateKey),
  };
}

function certificateOf(commonName: string, publicKey: KeyObject, privateKey: KeyObject): string {
  const algorithm = new AlgorithmIdentifier({ algorithm: RSA_SHA256, parameters: null });
  const value = new AttributeValue({ utf8String: truncate(commonName, 64) });
  const name = new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })])]);
  const notBefore = new Date();
  const notAfter = new Date(notBefore);
  notAfter.setFullYear(notBefore.getFullYear() + YEARS);
  const serial = randomBytes(16);
  serial.writeUInt8((serial.readUInt8() & 0x3f) | 0x40);
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: Uint8Array.from(serial).buffer,
    signature: algorithm,
    issuer: name,
    validity: new Validity({ notBefore, notAfter }),
    subject: name,
    subjectPublicKeyInfo: AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), privateKey);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm,
    signatureValue: Uint8Array.from(signature).buffer,
  });
  const lines =
    Buffer.from(AsnConvert.serialize(certificate))
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
