import { CKA, CKK, CKM, CKO } from '../../formats/pkcs/cryptoki.js';
import { isBadSignature } from './pkcs11-errors.js';
import { CURVE_BYTES, type CurveType, leftmostBits } from '../signatures/ecdsa.js';
import type { Handle, Mechanism, Pkcs11Token, Template } from './pkcs11-token.js';
import type { PooledSession } from './session-pool.js';
import { CURVE_PARAMS, ecPointOf } from '../signatures/spki.js';

const ECDSA: Mechanism = { mechanism: CKM.ECDSA };

export interface EcOrder {
  /** The private key in the token. */
  readonly handle: Handle;
  /** The stored SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly curve: CurveType;
  readonly digest: Buffer;
}

/**
 * Signs the digest and returns r‖s as a view into the session's buffer, or undefined if the signature does not verify with the stored public key. The token
 * verifies the signature with the stored public key as a session object, because node:crypto cannot verify ECDSA over a raw digest.
 */
export async function signEcdsa(
  token: Pkcs11Token,
  session: PooledSession,
  order: EcOrder,
): Promise<Buffer | undefined> {
  const data = leftmostBits(order.digest, order.curve);
  const publicKey = session.publicKey(order.publicKey.toString('latin1'), () =>
    token.createObject(session.handle, publicKeyTemplate(order.publicKey, order.curve)),
  );
  const raw = await token.sign(session.handle, ECDSA, order.handle, data, session.signatureBuffer);
  if (raw.length !== 2 * CURVE_BYTES[order.curve]) return undefined;
  try {
    await token.verify(session.handle, ECDSA, publicKey, data, raw);
  } catch (error) {
    if (isBadSignature(error)) return undefined;
    throw error;
  }
  return raw;
}

function publicKeyTemplate(publicKey: Buffer, curve: CurveType): Template {
  return [
    { type: CKA.CLASS, value: CKO.PUBLIC_KEY },
    { type: CKA.KEY_TYPE, value: CKK.EC },
    { type: CKA.TOKEN, value: false },
    { type: CKA.PRIVATE, value: false },
    { type: CKA.VERIFY, value: true },
    { type: CKA.EC_PARAMS, value: CURVE_PARAMS[curve] },
    { type: CKA.EC_POINT, value: ecPointOf(curve, publicKey) },
  ];
}
