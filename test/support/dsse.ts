import { execFileSync } from 'node:child_process';
import { verify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Envelope {
  readonly payloadType: string;
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly keyid?: string }[];
}

/**
 * Counts the signatures of an envelope accepted by a verifier based on go-securesystemslib, such as cosign. Such a verifier computes the ID of its key, which
 * is the SSH fingerprint, and skips every signature with a different ID (go-securesystemslib, dsse/verify.go).
 */
export function signaturesFound({ payloadType, payload, signatures }: Envelope, publicKeyPem: string): number {
  const statement = Buffer.from(payload, 'base64');
  const head = `DSSEv1 ${payloadType.length} ${payloadType} ${statement.length} `;
  const signed = Buffer.concat([Buffer.from(head), statement]);
  const id = sshFingerprint(publicKeyPem);
  const candidates = signatures.filter(({ keyid = '' }) => keyid === '' || keyid === id);
  return candidates.filter(({ sig }) => verify('sha256', signed, publicKeyPem, Buffer.from(sig, 'base64'))).length;
}

function sshFingerprint(publicKeyPem: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'sealwright-fingerprint-'));
  try {
    const file = join(directory, 'key');
    writeFileSync(file, publicKeyPem, { mode: 0o600 });
    writeFileSync(`${file}.pub`, execFileSync('ssh-keygen', ['-i', '-m', 'PKCS8', '-f', file]));
    return execFileSync('ssh-keygen', ['-l', '-f', `${file}.pub`], { encoding: 'utf8' }).split(' ')[1] ?? '';
  } finally {
    rmSync(directory, { recursive: true });
  }
}
