import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { certifiedKeyTypeOf, isSshCertificateType } from '../../../formats/ssh/certificate-type.js';
import { sshFingerprintOf } from '../../../formats/ssh/public-key.js';
import { WireReader, wireString } from '../../../formats/ssh/wire.js';
import { fromBase64 } from '../../../formats/encoding/base64.js';
import { truncate } from '../../../platform/text/truncate.js';
import { bitLength } from '../../../formats/asn1/der-reader.js';
import { sha256 } from './x509-certificate.js';
import { FIELD_BITS } from '../../judgement/vocabularies/key-oids.js';
import type { FoundPublicKey } from './credential-components.js';
import { ellipticCurve, type PublicKeyAlgorithm, sized } from '../../judgement/vocabularies/public-key-algorithm.js';
import { ownProperty } from '../../../formats/encoding/own-property.js';

const CURVES: Readonly<Record<string, string>> = {
  nistp256: 'secp256r1',
  nistp384: 'secp384r1',
  nistp521: 'secp521r1',
};
const JWK_CURVES: Readonly<Record<string, string>> = { nistp256: 'P-256', nistp384: 'P-384', nistp521: 'P-521' };
const ED25519 = { oid: '1.3.101.112', name: 'Ed25519' };
/** Algorithms by Ed25519 or Ed448 key type (RFC 8709, PROTOCOL.u2f). */
const EDWARDS = new Map([
  ['ssh-ed25519', ED25519],
  ['sk-ssh-ed25519', ED25519],
  ['ssh-ed448', { oid: '1.3.101.113', name: 'Ed448' }],
]);

/**
 * readSshPublicKey reads the public key in an SSH blob (RFC 4253 section 6.6, RFC 5656, RFC 8709, OpenSSH's PROTOCOL.u2f and PROTOCOL.certkeys). For a
 * certificate, reads the certified key.
 *
 * @throws RangeError if the blob is not a supported key
 */
export function readSshPublicKey(blob: Buffer, comment: string): FoundPublicKey {
  const fields = new WireReader(blob);
  const format = fields.string().toString('latin1');
  const certified = certifiedKeyTypeOf(format);
  if (certified === undefined && isSshCertificateType(format))
    throw new RangeError('the type of the SSH certificate is unknown');
  if (certified !== undefined) fields.string(); // nonce
  const start = fields.position;
  const { algorithm, jwk } = keyOf((certified ?? format).replace('@openssh.com', ''), fields);
  const sshFingerprint = sshFingerprintOf(
    certified === undefined ? blob : certifiedBlob(certified, blob, { fields, start }),
  );
  return {
    name: comment === '' ? sshFingerprint : comment,
    fingerprint: spkiFingerprint(jwk),
    sshFingerprint,
    algorithm,
    format,
  };
}

/** Returns the blob of the certified key. The key's fields begin at `start` and have been read as far as the algorithm requires. */
function certifiedBlob(type: string, blob: Buffer, { fields, start }: { fields: WireReader; start: number }): Buffer {
  if (type.startsWith('sk-')) fields.string(); // application
  return Buffer.concat([wireString(type), blob.subarray(start, fields.position)]);
}

function keyOf(kind: string, fields: WireReader): { algorithm: PublicKeyAlgorithm; jwk: JsonWebKey | undefined } {
  const curve = /nistp(?:256|384|521)$/.exec(kind)?.[0];
  if (kind === 'ssh-rsa') {
    const [e, n] = [fields.string(), fields.string()];
    const jwk = { kty: 'RSA', e: unsigned(e), n: unsigned(n) };
    return { algorithm: sized('1.2.840.113549.1.1.1', 'RSA', bitLength(n)), jwk };
  }
  if (kind === 'ssh-dss')
    return { algorithm: sized('1.2.840.10040.4.1', 'DSA', bitLength(fields.string())), jwk: undefined };
  const edwards = EDWARDS.get(kind);
  if (edwards !== undefined) {
    const jwk = { kty: 'OKP', crv: edwards.name, x: fields.string().toString('base64url') };
    return { algorithm: { ...edwards, bits: null, curve: null, properties: { primitive: 'signature' } }, jwk };
  }
  if (curve === undefined) throw new RangeError('the type of the SSH key is unknown');
  fields.string();
  const point = fields.string();
  const half = (point.length - 1) / 2;
  const name = ownProperty(CURVES, curve) ?? curve;
  const coordinates = {
    x: point.subarray(1, 1 + half).toString('base64url'),
    y: point.subarray(1 + half).toString('base64url'),
  };
  return {
    algorithm: ellipticCurve('1.2.840.10045.2.1', name, FIELD_BITS[name] ?? null),
    jwk: { kty: 'EC', crv: JWK_CURVES[curve], ...coordinates },
  };
}

function unsigned(mpint: Buffer): string {
  return mpint.subarray(mpint[0] === 0 ? 1 : 0).toString('base64url');
}

/**
 * Returns the SHA-256 of the SubjectPublicKeyInfo, so that a key is the same asset in TLS and in SSH. Returns undefined for a key that OpenSSL rejects, which
 * is then identified by its SSH fingerprint.
 */
function spkiFingerprint(jwk: JsonWebKey | undefined): string | undefined {
  if (jwk === undefined) return undefined;
  try {
    return sha256(createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'der' }));
  } catch {
    return undefined;
  }
}

const MAX_COMMENT = 200;
/**
 * Matches a key type or a signature algorithm, followed by a Base64-encoded blob. A blob begins with the length of its type, so its encoding begins with AAAA.
 * Options may precede the key, and a comment may follow.
 */
const KEY =
  /(?<!\S)(?:ssh-|ecdsa-|sk-|rsa-sha2-|webauthn-sk-)[a-z0-9@.-]{1,60}\s{1,99}(AAAA[A-Za-z0-9+/]+={0,2})(?!\S)/;

/** sshKeyLine parses a line of authorized_keys, known_hosts or a .pub file. Returns undefined for comments and other lines. */
export function sshKeyLine(line: string): { readonly blob: Buffer; readonly comment: string } | undefined {
  const found = line.startsWith('#') ? null : KEY.exec(line);
  if (found === null) return undefined;
  const blob = fromBase64(found[1] ?? '') ?? Buffer.alloc(0);
  return { blob, comment: truncate(line.slice(found.index + found[0].length).trim(), MAX_COMMENT) };
}
