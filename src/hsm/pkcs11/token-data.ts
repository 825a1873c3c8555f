import { CKA, CKO } from '../../formats/pkcs/cryptoki.js';
import type { SigningParts } from './token-signer.js';

const APPLICATION = 'sealwright';

/** writeData adds a private data object to the token. */
export function writeData(
  { token, directory }: Pick<SigningParts, 'token' | 'directory'>,
  label: string,
  value: Buffer,
): void {
  const session = token.openSession(true);
  try {
    directory.noteCreation();
    token.createObject(session, [
      { type: CKA.CLASS, value: CKO.DATA },
      { type: CKA.TOKEN, value: true },
      { type: CKA.PRIVATE, value: true },
      { type: CKA.LABEL, value: label },
      { type: CKA.APPLICATION, value: APPLICATION },
      { type: CKA.VALUE, value },
    ]);
  } finally {
    token.closeSession(session);
  }
}
