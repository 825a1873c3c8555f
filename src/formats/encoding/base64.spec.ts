import * as fc from 'fast-check';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fromBase64, fromBase64Url, fromBrokenBase64 } from './base64.js';

const hex = (bytes: Buffer | undefined) => bytes?.toString('hex');

describe('base64', () => {
  it('decodes what was encoded, for arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const written = Buffer.from(bytes);
        expect(fromBase64(written.toString('base64'))?.equals(written)).toBe(true);
        expect(fromBase64Url(written.toString('base64url'))?.equals(written)).toBe(true);
      }),
    );
  });

  it('is canonical: decoded text encodes to the same text', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'ABwxyz0189+/=-_ \n'.split('')), maxLength: 12 });
    fc.assert(
      fc.property(letters, (text) => {
        expect([undefined, text]).toContain(fromBase64(text)?.toString('base64'));
      }),
      { numRuns: 2000 },
    );
  });

  // Test vectors of RFC 4648 section 10.
  it.each([
    ['', ''],
    ['Zg==', 'f'],
    ['Zm8=', 'fo'],
    ['Zm9v', 'foo'],
    ['Zm9vYg==', 'foob'],
    ['Zm9vYmE=', 'fooba'],
    ['Zm9vYmFy', 'foobar'],
  ])('decodes %s to "%s"', (text, plain) => {
    expect(fromBase64(text)?.toString()).toBe(plain);
  });

  it.each([
    ['words', 'v 2.0 of the tool!'],
    ['letters between', 'Z*m*9*v'],
    ['a blank', 'Zm9 v'],
    ['a line break', 'Zm9v\n'],
    ['no padding', 'Zg'],
    ['half of the padding', 'Zg='],
    ['too much padding', 'Zm8=='],
    ['padding alone', '===='],
    ['padding in the middle', 'Zg==Zg=='],
    ['a lone letter', 'Zm9vY'],
    ['bits behind the last byte', 'Zh=='],
    ['bits behind the last two bytes', 'Zm9='],
    ['base64url', '-_-_'],
    ['a letter that only looks like one', 'Zm9ѵ'],
    ['NUL', 'Zm9v\0'],
  ])('is rejected: %s', (_, text) => {
    expect(fromBase64(text)).toBeUndefined();
  });

  it('is accepted without padding if the format omits it', () => {
    expect(hex(fromBase64('Zg', 'optional'))).toBe('66');
    expect(hex(fromBase64('Zg==', 'optional'))).toBe('66');
    expect(fromBase64('Zg=', 'optional')).toBeUndefined();
    expect(fromBase64('Zh', 'optional')).toBeUndefined();
    expect(fromBase64('Zg==', 'none')).toBeUndefined();
  });

  it('in its URL variant has its own alphabet, and no padding unless the format requires it', () => {
    expect(hex(fromBase64Url('-_8'))).toBe('fbff');
    expect(fromBase64Url('+/8')).toBeUndefined();
    expect(fromBase64Url('-_8=')).toBeUndefined();
    expect(hex(fromBase64Url('-_8=', 'optional'))).toBe('fbff');
  });

  it('in PEM may contain line breaks anywhere', () => {
    expect(hex(fromBrokenBase64('Zm\r\n9v\n'))).toBe('666f6f');
    expect(fromBrokenBase64('Zm9v!\n')).toBeUndefined();
  });
});

/**
 * Node's decoder skips unknown characters and stops at the first `=`. The files listed here may use that decoder, because their input is trusted: rows
 * written by this service, keys exported by this process, or characters that were just validated.
 */
const OWN_TEXTS: Record<string, string> = {
  'src/formats/ssh/public-key.ts': 'JWK of a KeyObject',
  'src/formats/ssh/key-pair.ts': 'JWK of a KeyObject',
  'src/hosts/credentials/openssh-key.ts': 'JWK of a KeyObject',
  'src/auth/people/second-factors/passkeys.service.ts': 'credential id as the WebAuthn library verified and wrote it',
  'src/notifications/webhooks/webhook-secrets.ts': 'secret that this service made',
  'src/signing/evidence/approved-requests.ts': 'rows of our own',
  'src/signing/requests/shown-batch.ts': 'hashes that this process computed',

  'src/inventory/model/secrets.ts': 'a look for private keys, which must see them in bad base64 too',
  'src/client/sensor/model/der.ts': 'a window into a text that is searched for keys',
  'src/client/sensor/detectors/ssh.ts': 'the head of a text that is searched for keys',
};

it('no other file decodes external base64 with the lenient decoder of Node', () => {
  const root = join(import.meta.dirname, '../../..');
  const raw =
    /\b(?:Buffer\.from\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*,\s*['"]base64(?:url)?['"]\s*\)|atob\(|IsBase64\b)/;
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.spec.ts'));
  expect(files.length).toBeGreaterThan(500);
  const calling = files.filter((file) => raw.test(readFileSync(join(root, file), 'utf8')));
  expect(calling.toSorted()).toEqual(Object.keys(OWN_TEXTS).toSorted());
});
