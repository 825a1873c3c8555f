import { curveBits, factsOfJwk, type SensedKeyFacts, onCurve, rsa } from './key-algorithm.js';

/** The fields of SSH (RFC 4251 section 5): each a length and so many bytes. RangeError when they are cut short. */
export class SshFields {
  private at: number;

  constructor(
    private readonly bytes: Buffer,
    at = 0,
  ) {
    this.at = at;
  }

  next(): Buffer {
    const start = this.at + 4;
    const end = start + this.bytes.readUInt32BE(this.at);
    if (end > this.bytes.length) throw new RangeError('an SSH field is cut short');
    this.at = end;
    return this.bytes.subarray(start, end);
  }

  text(): string {
    return this.next().toString('latin1');
  }

  number(): number {
    this.at += 4;
    return this.bytes.readUInt32BE(this.at - 4);
  }
}

const JWK_CURVES: Readonly<Record<string, readonly [string, string]>> = {
  nistp256: ['P-256', 'secp256r1'],
  nistp384: ['P-384', 'secp384r1'],
  nistp521: ['P-521', 'secp521r1'],
};

/** Of a public key blob (RFC 4253 section 6.6, RFC 5656, RFC 8709); nothing of a kind that is not known. */
export function factsOfBlob(blob: Buffer): Partial<SensedKeyFacts> {
  const fields = new SshFields(blob);
  const kind = fields.text();
  if (kind === 'ssh-rsa') {
    const [e, n] = [unsigned(fields.next()), unsigned(fields.next())];
    return (
      factsOfJwk({ kty: 'RSA', e: e.toString('base64url'), n: n.toString('base64url') }) ?? {
        algorithm: rsa(n.length * 8),
      }
    );
  }
  if (kind === 'ssh-dss') return { algorithm: rsa(unsigned(fields.next()).length * 8, 'DSA') };
  if (kind.includes('ed25519'))
    return factsOfJwk({ kty: 'OKP', crv: 'Ed25519', x: fields.next().toString('base64url') }) ?? {};
  const [crv, curve] = JWK_CURVES[/nistp\d+/.exec(kind)?.[0] ?? ''] ?? [];
  if (crv === undefined || curve === undefined) return {};
  fields.next();
  return (
    factsOfJwk({ kty: 'EC', crv, ...coordinates(fields.next()) }) ?? {
      algorithm: onCurve(curve),
      bits: curveBits(curve),
    }
  );
}

/** Of an uncompressed point. */
export function coordinates(point: Buffer): { x: string; y: string } {
  const half = (point.length - 1) / 2;
  return { x: point.toString('base64url', 1, 1 + half), y: point.toString('base64url', 1 + half) };
}

function unsigned(integer: Buffer): Buffer {
  return integer.subarray(integer[0] === 0 ? 1 : 0);
}
