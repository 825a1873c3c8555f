import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import type { TokenKey } from '../key-vault.js';
import { KeyProcessFault } from './key-process-fault.js';
import type { Handle } from './pkcs11-token.js';
import type { SigningParts } from './token-signer.js';

/**
 * TokenDestroyer destroys key pairs in the token. Both the CKA_ID and the CKA_LABEL must match the order, and secret keys are never searched. Therefore, no
 * database row can cause the audit log's key, the canary key or a sealing key to be destroyed.
 */
export class TokenDestroyer {
  private readonly parts: SigningParts;

  constructor(parts: SigningParts) {
    this.parts = parts;
  }

  /**
   * Destroys a key pair and returns the number of private keys destroyed. Throws KeyProcessFault `other-key` for a key with a different label, or an error
   * from the HSM library.
   */
  destroy({ ckaId, labels }: TokenKey): { destroyed: number } {
    const { token, directory } = this.parts;
    const [privateKeys, publicKeys] = this.find(ckaId);
    const pair = [...privateKeys, ...publicKeys];
    if (pair.some((object) => !labels.includes(directory.attribute(object, CKA.LABEL).toString())))
      throw new KeyProcessFault('other-key', 'the key with this ID has a different label');
    if (privateKeys.length === 0) directory.assertSeesAll();
    const session = token.openSession(true);
    try {
      // The private key is destroyed first, so that a crash leaves only a public key.
      for (const object of pair) token.destroyObject(session, object);
    } finally {
      token.closeSession(session);
      directory.forget({ ckaId, labels });
    }
    if (this.find(ckaId).flat().length > 0)
      throw new KeyProcessFault('refused', 'the token still contains a key that it reported as destroyed');
    return { destroyed: privateKeys.length };
  }

  private find(ckaId: Buffer): [Handle[], Handle[]] {
    const { directory } = this.parts;
    return [directory.withId(CKO.PRIVATE_KEY, ckaId), directory.withId(CKO.PUBLIC_KEY, ckaId)];
  }
}
