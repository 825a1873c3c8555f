import { WireReader } from '../../../formats/ssh/wire.js';
import { curveBits, factsOfJwk, type SensedKeyFacts, onCurve, rsa } from './key-algorithm.js';

const JWK_CURVES: Readonly<Record<string, readonly [string, string]>> = {
  nistp256: ['P-256', 'secp256r1'],
  nistp384: ['P-384', 'secp384r1'],
  nistp521: ['P-521', 'secp521r1'],
};

const ED25519 = ['ssh-ed25519', 'sk-ssh-ed25519@openssh.com'];
const ECDSA = /^(?:sk-)?ecdsa-sha2-(nistp\d{3})(?:@openssh\.com)?$/;

/** Reads the algorithm and size of a public key blob (RFC 4253 section 6.6, RFC 5656, RFC 8709). Returns an empty object for unknown types and certificates. */
export function factsOfBlob(blob: Buffer): Partial<SensedKeyFacts> {
  const fields = new WireReader(blob);
  const kind = fields.text();
  if (kind === 'ssh-rsa') {
    const [e, n] = [unsigned(fields.string()), unsigned(fields.string())];
    return (
      factsOfJwk({ kty: 'RSA', e: e.toString('base64url'), n: n.toString('base64url') }) ?? {
        algorithm: rsa(n.length * 8),
      }
    );
  }
  if (kind === 'ssh-dss') return { algorithm: rsa(unsigned(fields.string()).length * 8, 'DSA') };
  if (ED25519.includes(kind))
    return factsOfJwk({ kty: 'OKP', crv: 'Ed25519', x: fields.string().toString('base64url') }) ?? {};
  const [crv, curve] = JWK_CURVES[ECDSA.exec(kind)?.[1] ?? ''] ?? [];
  if (crv === undefined || curve === undefined) return {};
  fields.string();
  return (
    factsOfJwk({ kty: 'EC', crv, ...coordinates(fields.string()) }) ?? {
      algorithm: onCurve(curve),
      bits: curveBits(curve),
    }
  );
}

/** Returns the coordinates of an uncompressed point in base64url. */
export function coordinates(point: Buffer): { x: string; y: string } {
  const half = (point.length - 1) / 2;
  return { x: point.toString('base64url', 1, 1 + half), y: point.toString('base64url', 1 + half) };
}

function unsigned(integer: Buffer): Buffer {
  return integer.subarray(integer[0] === 0 ? 1 : 0);
}
