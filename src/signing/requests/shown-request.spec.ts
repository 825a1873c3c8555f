import { expect, it } from 'vitest';
import type { SigningRequest } from '../model/signing-request.entity.js';
import { shownRequest } from './shown-request.js';

const titled = (filename: string) =>
  shownRequest(
    { digest: Buffer.alloc(32), keyName: 'release', metadata: { filename } } as unknown as SigningRequest,
    undefined,
  ).title;

it.each([
  ['spaces that push the end of a name out of sight', `app.tar.gz${' '.repeat(90)}.exe`, 'app.tar.gz .exe'],
  ['a name that is longer than a title', `${'a'.repeat(100)}.exe`, `${'a'.repeat(79)}…`],
  ['characters that turn the text round', 'photo\u202egpj.exe', 'photo gpj.exe'],
  ['line separators', 'a\u2028b\nc', 'a b c'],
  ['URLs, which mail programs would make links of', 'a: see https://evil.example/1', 'a: see https: //evil.example/1'],
])('an approval title shows %s', (_, filename, shown) => {
  expect(titled(filename)).toBe(`Sign ${shown} with the key release`);
});
