import { CKA } from './cryptoki.js';
import { isCurve } from './ecdsa.js';
import type { KeyDirectory } from './key-directory.js';
import type { KeyType } from './key-vault.js';
import type { Handle } from './pkcs11-token.js';
import { ecPublicKeyInfo, rsaPublicKeyInfo } from './spki.js';

/** SubjectPublicKeyInfo of a public key object in the token. */
export function publicKeyInfoOf(directory: KeyDirectory, object: Handle, type: KeyType): Buffer {
  if (isCurve(type)) return ecPublicKeyInfo(type, directory.attribute(object, CKA.ecPoint));
  return rsaPublicKeyInfo(directory.attribute(object, CKA.modulus), directory.attribute(object, CKA.publicExponent));
}
