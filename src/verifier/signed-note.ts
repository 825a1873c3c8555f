import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { EMPTY_ROOT, HASH_BYTES } from './merkle-tree.js';
import { fromBase64 } from '../formats/encoding/base64.js';

/** A checkpoint: the size of a log and its root at that size (C2SP tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Buffer;
}

/** Returns the text to be signed: three lines (C2SP tlog-checkpoint, "Note text"). */
export function noteText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n`;
}

/**
 * Returns a signed note (C2SP signed-note) with a single signature, a DER-encoded ECDSA signature over the text. `publicKey` is a DER-encoded
 * SubjectPublicKeyInfo.
 */
export function signedNote(checkpoint: Checkpoint, signature: Buffer, publicKey: Buffer): string {
  const line = Buffer.concat([keyHint(publicKey), signature]).toString('base64');
  return `${noteText(checkpoint)}\n\u2014 ${checkpoint.origin} ${line}\n`;
}

/** Returns the checkpoint of a note if its signature verifies with this key; otherwise undefined. */
export function openNote(note: string, publicKey: Buffer): Checkpoint | undefined {
  const end = note.indexOf('\n\n');
  const text = note.slice(0, end + 1);
  const [origin, size, root, ...rest] = text.split('\n');
  if (end < 0 || origin === undefined || !/^(0|[1-9]\d{0,15})$/.test(size ?? '') || rest.join('') !== '')
    return undefined;
  const [key, hash] = [keyIn(publicKey), rootIn(root ?? '')];
  if (key === undefined || hash === undefined) return undefined;
  if (size === '0' && !hash.equals(EMPTY_ROOT)) return undefined;
  const signed = note
    .slice(end + 2)
    .split('\n')
    .some((line) => {
      const [dash, name, encoded] = line.split(' ');
      const bytes = fromBase64(encoded ?? '');
      if (bytes === undefined) return false;
      if (dash !== '\u2014' || name !== origin || !bytes.subarray(0, 4).equals(keyHint(publicKey))) return false;
      return verify('sha256', Buffer.from(text), key, bytes.subarray(4));
    });
  return signed ? { origin, size: Number(size), root: hash } : undefined;
}

/** Decodes 32 bytes of canonical base64. */
function rootIn(text: string): Buffer | undefined {
  const root = fromBase64(text);
  return root?.length === HASH_BYTES ? root : undefined;
}

function keyIn(publicKey: Buffer): KeyObject | undefined {
  try {
    return createPublicKey({ key: publicKey, format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

/** Returns the first four bytes of the log ID (the SHA-256 of the log's public key), which Sigstore verifiers use to look up the key. */
function keyHint(publicKey: Buffer): Buffer {
  return createHash('sha256').update(publicKey).digest().subarray(0, 4);
}
