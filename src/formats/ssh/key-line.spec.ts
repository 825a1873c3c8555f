import { describe, expect, it } from 'vitest';
import { oneKeyLine } from './key-line.js';
import { readPublicKeyLine } from './public-key.js';

const BODY = 'AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r';
const KEY = `ssh-ed25519 ${BODY}`;
const MORE = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHpdA8Wb0gdl1C2nBTPUQkFyfFsTZTjfvyNe1HpVXyUN more';

describe('a key file line', () => {
  it.each([
    ['a line feed', '\n'],
    ['CRLF', '\r\n'],
    ['a carriage return', '\r'],
    ['a vertical tab', '\v'],
    ['a form feed', '\f'],
    ['NUL', '\0'],
    ['next line', '\u0085'],
    ['a line separator', '\u2028'],
    ['a paragraph separator', '\u2029'],
    ['text that runs backwards', '\u202e'],
    ['half a character', '\ud800'],
    ['an escape', '\u001b[2K'],
  ])('is rejected if it contains %s', (_name, between) => {
    expect(oneKeyLine(`${KEY} ann${between}${MORE}`)).toBeUndefined();
    expect(readPublicKeyLine(`${KEY} ann${between}${MORE}`)).toBeUndefined();
  });

  it.each([
    ['a line end behind it', `${KEY} ann\n`],
    ['CRLF behind it', `${KEY} ann\r\n`],
    ['blank lines around it', `\n\n  ${KEY} ann\n\n`],
    ['a byte order mark', `\uFEFF${KEY} ann\n`],
    ['tabs between its fields', `ssh-ed25519\t${BODY}\tann`],
  ])('may have %s', (_name, text) => {
    expect(readPublicKeyLine(text)).toMatchObject({ type: 'ssh-ed25519', comment: 'ann' });
  });

  it.each([
    ['options in front of the key', `command="true" ${KEY} ann`],
    ['no blank between key and comment', `${KEY}ann@laptop=`],
    ['a comment line above the key', `# Ann\n${KEY} ann`],
  ])('is rejected with %s', (_name, text) => {
    expect(readPublicKeyLine(text)).toBeUndefined();
  });
});
