import { expect, it } from 'vitest';
import { inVersion } from './export-versions.js';

it('an export to another version yields to other requests between large components', async () => {
  const line = (size: number) => `,${JSON.stringify({ type: 'library', name: 'x'.repeat(size) })}\n`;
  async function* parts() {
    yield await Promise.resolve(Buffer.from([line(100_000), line(100_000), line(10), line(10)].join('')));
  }
  const turns: number[] = [];
  for await (const part of inVersion(parts(), '1.7')) turns.push(part.toString().trim().split('\n').length);
  expect(turns).toEqual([1, 1, 2]);
});

it('an export in another version contains a component that cannot be converted as it is stored', async () => {
  const fine = { type: 'library', name: 'fine' };
  const odd = {
    type: 'cryptographic-asset',
    name: 'RSA-1024',
    properties: [null],
    cryptoProperties: { algorithmProperties: {} },
  };
  async function* parts() {
    yield await Promise.resolve(Buffer.from([odd, fine].map((one) => `,${JSON.stringify(one)}\n`).join('')));
  }
  let text = '';
  for await (const part of inVersion(parts(), '1.7')) text += part.toString();
  expect(JSON.parse(`[${text.slice(1)}]`)).toEqual([odd, fine]);
});
