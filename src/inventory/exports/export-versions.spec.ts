import { expect, it } from 'vitest';
import { inVersion } from './export-versions.js';

it('an export in another version converts large components in turns of their own, so that others are answered between them', async () => {
  const line = (size: number) => `,${JSON.stringify({ type: 'library', name: 'x'.repeat(size) })}\n`;
  async function* parts() {
    yield await Promise.resolve(Buffer.from([line(100_000), line(100_000), line(10), line(10)].join('')));
  }
  const turns: number[] = [];
  for await (const part of inVersion(parts(), '1.7')) turns.push(part.toString().trim().split('\n').length);
  expect(turns).toEqual([1, 1, 2]);
});
