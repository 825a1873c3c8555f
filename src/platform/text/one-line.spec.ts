import { expect, it } from 'vitest';
import { oneLine } from './one-line.js';

it.each([
  ['a header of its own', 'Key expired\r\nBcc: eve@example.com', 'Key expired Bcc: eve@example.com'],
  ['line separators', 'a\u2028b\u2029c\u0085d', 'a b c d'],
  ['colours of a terminal', 'a\u001b[31mb', 'a [31mb'],
  ['writing that runs backwards', 'invoice\u202efdp.exe', 'invoice fdp.exe'],
  ['spaces around', '\n a \t', 'a'],
  ['half of a surrogate pair', 'a\udd10', 'a\ufffd'],
])('is one line without %s', (_, text, line) => {
  expect(oneLine(text, 200)).toBe(line);
});

it('is no longer than it may be, and ends with a whole character', () => {
  expect(oneLine(`${'x'.repeat(199)}🔐`, 200)).toBe('x'.repeat(199));
  expect(oneLine('\n'.repeat(500_000), 200)).toBe('');
});
