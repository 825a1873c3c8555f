import { expect, it } from 'vitest';
import { whileAuthorized } from './reauthorization.js';

async function* lines() {
  for (const line of ['a', 'b', 'c']) yield await Promise.resolve(line);
}

async function readInto(read: string[], parts: AsyncIterable<string>): Promise<void> {
  for await (const part of parts) read.push(part);
}

it('a long response ends with an error once its caller is no longer authorized', async () => {
  let calls = 0;
  const reauthorize = () => {
    calls += 1;
    return calls > 2 ? Promise.reject(new Error('disabled')) : Promise.resolve();
  };
  const read: string[] = [];
  await expect(readInto(read, whileAuthorized({ reauthorize }, lines(), 0))).rejects.toThrow('disabled');
  expect(read).toEqual(['a', 'b']);
});

it('a short response is not authorized again', async () => {
  const reauthorize = () => Promise.reject(new Error('disabled'));
  const read: string[] = [];
  await readInto(read, whileAuthorized({ reauthorize }, lines()));
  expect(read).toEqual(['a', 'b', 'c']);
});
