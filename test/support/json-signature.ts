import { createPublicKey, createVerify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from './authority.js';

/** Independent program that computes the data to be signed according to JSF 0.82: canonical JSON without the signature value. */
const CANONICAL = `
import base64, json, sys
document = json.load(open(sys.argv[1], encoding='utf-8'))
value = document['signature'].pop('value')
open(sys.argv[2], 'wb').write(base64.urlsafe_b64decode(value + '=' * (-len(value) % 4)))
open(sys.argv[3], 'w', encoding='utf-8').write(json.dumps(document, sort_keys=True, separators=(',', ':'), ensure_ascii=False))
`;

export interface SignedText {
  readonly value: Buffer;
  /** Canonical form that was signed. */
  readonly text: Buffer;
}

/** Extracts the signature of a document. Requires python3. */
export function signedText(document: Buffer | string): SignedText {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-jsf-'));
  const file = (name: string) => join(directory, name);
  try {
    writeFileSync(file('document'), document);
    const { ok, text } = ask('python3', ['-c', CANONICAL, file('document'), file('value'), file('text')]);
    if (!ok) throw new Error(text);
    return { value: readFileSync(file('value')), text: readFileSync(file('text')) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Reports whether the signature in the document (SHA-256 with EC or RSA PKCS #1 v1.5) verifies with the public key in PEM. */
export function isSignedBy(document: Buffer | string, publicKey: string): boolean {
  const { value, text } = signedText(document);
  return createVerify('sha256')
    .update(text)
    .verify({ key: createPublicKey(publicKey), dsaEncoding: 'ieee-p1363' }, value);
}
