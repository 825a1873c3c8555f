import type { FoundPrivateKey } from './credential-components.js';
import { readSshPublicKey } from './ssh-public-key.js';
import { truncate } from '../../platform/text/truncate.js';
import { fromBrokenBase64 } from '../../formats/encoding/base64.js';

const FIRST_LINE = /^PuTTY-User-Key-File-([123]): (\S{1,60})$/;
const MAX_LINES = 2000;

/** True for a key file of PuTTY, of any version. */
export function isPuttyKey(text: string): boolean {
  return text.trimStart().startsWith('PuTTY-User-Key-File-');
}

/**
 * Which key a file of PuTTY holds, by its public half, which stands in the clear; the lines of the private half are not read
 * (PuTTY user manual, appendix C).
 *
 * @throws RangeError when it is none.
 */
export function readPuttyKeyFacts(text: string): FoundPrivateKey {
  const lines = text.trimStart().split(/\r\n|\r|\n/, MAX_LINES);
  const [, version] = FIRST_LINE.exec((lines[0] ?? '').trimEnd()) ?? [];
  const after = (name: string) => {
    const at = lines.findIndex((line) => line.startsWith(`${name}: `));
    return { at, value: at < 0 ? '' : (lines[at] ?? '').slice(name.length + 2).trim() };
  };
  const { at, value } = after('Public-Lines');
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (version === undefined || count === 0) throw new RangeError('no PuTTY key');
  const blob = fromBrokenBase64(lines.slice(at + 1, at + 1 + count).join(''));
  if (blob === undefined) throw new RangeError('no PuTTY key');
  const key = readSshPublicKey(blob, truncate(after('Comment').value, 200));
  const { algorithm, fingerprint, sshFingerprint, name } = key;
  const encryption = after('Encryption').value;
  const derivation = version === '3' ? after('Key-Derivation').value || 'Argon2' : 'SHA-1';
  const securedBy = encryption === 'none' ? undefined : truncate(`PuTTY ${derivation} ${encryption}`, 100);
  return { name: `private key ${name}`, fingerprint: fingerprint ?? sshFingerprint ?? name, algorithm, securedBy };
}
