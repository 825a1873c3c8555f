import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { blankSecrets, withoutSecretMembers, WITHHELD } from './secrets.js';

/** Returns the parsed text with its secrets blanked, and the number of blanked secrets. */
function blanked(text: string): { value: unknown; places: number } {
  const value = JSON.parse(text) as object;
  const places = blankSecrets(value);
  return { value, places };
}

describe('secrets in JSON values', () => {
  it.each([
    ['a text', '{"a":{"b":["x","password=hunter2"]}}', { a: { b: ['x', `password=${WITHHELD}`] } }],
    ['a text with escapes', String.raw`["\u0070assword=hunter2"]`, [`password=${WITHHELD}`]],
    ['what is named like one', '{"name":"db.password","value":"x"}', { name: 'db.password', value: WITHHELD }],
    ['a private member of a JWK', '{"d":"x","n":"y","kty":"RSA"}', { d: WITHHELD, n: 'y', kty: 'RSA' }],
  ])('are withheld in place: %s', (_, text, value) => {
    expect(blanked(text)).toEqual({ value, places: 1 });
  });

  it('are withheld in a property whose name is also withheld', () => {
    const name = '-----BEGIN PRIVATE KEY-----password';
    expect(blanked(JSON.stringify({ name, value: 'x' }))).toEqual({
      value: { name: WITHHELD, value: WITHHELD },
      places: 2,
    });
  });

  it('do not modify the prototype', () => {
    const { value } = blanked('{"__proto__":"password=hunter2"}');
    expect(JSON.stringify(value)).toBe(`{"__proto__":"password=${WITHHELD}"}`);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('are not reported for values that merely resemble secrets', () => {
    const text = '{"type":"public-key","value":"x","d":"y","name":"key","list":[1,null,true,"token"]}';
    expect(blanked(text)).toEqual({ value: JSON.parse(text), places: 0 });
  });
});

describe('base64 of a private key', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const base64 = rsa.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  const lines = (text: string, width: number, end: string) =>
    (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end);

  it.each([
    ['alone', base64],
    ['in lines of 64 characters', lines(base64, 64, '\n')],
    ['in indented lines of 76 characters', lines(base64, 76, '\r\n      ')],
    ['in lines of 32 characters', lines(base64, 32, '\n')],
    ['in lines with escaped ends', `key\\n${lines(base64, 64, '\\n')}\\n`],
    ['behind other text', `the block is: ${base64}`],
    ['behind other text and in lines', `blob ${lines(base64, 64, '\n')} and more`],
    ['behind a path', `https://example.com/${base64}`],
    [
      'behind a line of base64',
      `${rsa.publicKey.export({ type: 'pkcs1', format: 'der' }).toString('base64')}\n${base64}`,
    ],
  ])('%s is withheld as a whole', (_, text) => {
    const clean = withoutSecretMembers(text);
    expect(clean).toContain(WITHHELD);
    const left = Array.from({ length: base64.length / 8 }, (_one, index) => base64.slice(8 * index, 8 * index + 8));
    expect(left.filter((part) => clean.includes(part))).toEqual([]);
  });

  it('leaves the base64 of a public key in lines', () => {
    const text = `key: ${lines(rsa.publicKey.export({ type: 'spki', format: 'der' }).toString('base64'), 64, '\n')}`;
    expect(withoutSecretMembers(text)).toBe(text);
  });
});
