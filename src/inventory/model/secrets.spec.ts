import { describe, expect, it } from 'vitest';
import { blankSecrets, WITHHELD } from './secrets.js';

/** Blanks the secrets of a parsed text. */
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
