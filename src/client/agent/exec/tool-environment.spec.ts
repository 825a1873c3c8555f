import { describe, expect, it } from 'vitest';
import { shellWord } from '../../api/command.js';
import { p11KitAddress } from './tool-environment.js';

describe('a socket path', () => {
  it.each([
    ['/run/user/1000/sealwright/pkcs11', 'unix:path=/run/user/1000/sealwright/pkcs11'],
    ['/tmp/a b/ü;c,d%/pkcs11', 'unix:path=/tmp/a%20b/%C3%BC%3Bc%2Cd%25/pkcs11'],
  ])('%s is encoded for p11-kit', (path, address) => expect(p11KitAddress(path)).toBe(address));

  it('is quoted as one shell word, whatever it contains', () => {
    expect(shellWord("/tmp/it's $HOME")).toBe(String.raw`'/tmp/it'\''s $HOME'`);
  });
});
