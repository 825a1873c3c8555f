import { createPublicKey, createVerify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask } from './authority.js';

/** The signed text according to JSF 0.82, by an independent program: canonical JSON without the signature value. */
const CANONICAL = `
import base64, json, sys
document = json.load(open(sys.argv[1], encoding='utf-8'))
value = document['signature'].pop('value')
open(sys.argv[2], 'wb').write(base64.urlsafe_b64decode(value + '=' * (-len(value) % 4)))
open(sys.argv[3], 'w', encoding='utf-8').write(json.dumps(document, sort_keys=True, separators=(',', ':'), ensure_ascii=False))
`;

export interface SignedText {
  readonly value: Buffer;
  /** The canonical form that was signed. */
  readonly text: Buffer;
}

/** Extracts the signature of a document. Needs python3. */
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

/** Whether the signature (SHA-256; EC or RSA by PKCS #1 v1.5) in the document is one of the key, PEM. */
export function isSignedBy(document: Buffer | string, publicKey: string): boolean {
  const { value, text } = signedText(document);
  return createVerify('sha256')
    .update(text)
    .verify({ key: createPublicKey(publicKey), dsaEncoding: 'ieee-p1363' }, value);
}
