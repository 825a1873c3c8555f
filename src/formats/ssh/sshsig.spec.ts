import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPublicKeyLine } from './public-key.js';
import { isSshsigBy } from './sshsig.js';

const directory = mkdtempSync(join(tmpdir(), 'sshsig-'));
afterAll(() => rmSync(directory, { recursive: true }));
let names = 0;

function newKey(...kind: string[]) {
  const file = join(directory, `key-${(names += 1)}`);
  execFileSync('ssh-keygen', ['-q', ...kind, '-N', '', '-f', file]);
  const blob = readPublicKeyLine(readFileSync(`${file}.pub`, 'utf8'))?.blob ?? Buffer.alloc(0);
  const sign = (message: string, namespace = 'mine') =>
    execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', namespace, '-f', file], {
      input: message,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  return { blob, sign };
}
const about = (message: string, namespace = 'mine') => ({ message: Buffer.from(message), namespace });

describe.each([
  ['ed25519', ['-t', 'ed25519']],
  ['rsa', ['-t', 'rsa', '-b', '2048']],
  ['ecdsa', ['-t', 'ecdsa', '-b', '384']],
])('an ssh-keygen signature with %s', (_type, kind) => {
  const key = newKey(...kind);
  const signature = key.sign('one');

  it('verifies with the key and the message', () => {
    expect(isSshsigBy(key.blob, signature, about('one'))).toBe(true);
  });

  it.each([
    ['another message', () => isSshsigBy(key.blob, signature, about('two'))],
    ['another purpose', () => isSshsigBy(key.blob, signature, about('one', 'git'))],
    ['another key', () => isSshsigBy(newKey('-t', 'ed25519').blob, signature, about('one'))],
    ['nothing', () => isSshsigBy(key.blob, '', about('one'))],
    ['a cut signature', () => isSshsigBy(key.blob, signature.slice(0, 200), about('one'))],
  ])('is rejected for %s', (_name, asked) => {
    expect(asked()).toBe(false);
  });

  it('is rejected after any byte changes', () => {
    const body = signature.split('\n').slice(1, -2).join('');
    const bytes = Buffer.from(body, 'base64');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const armored = `-----BEGIN SSH SIGNATURE-----\n${changed.toString('base64')}\n-----END SSH SIGNATURE-----\n`;
      expect([at, isSshsigBy(key.blob, armored, about('one'))]).toEqual([at, false]);
    }
  });
});
