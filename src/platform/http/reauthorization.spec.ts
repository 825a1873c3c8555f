import { expect, it } from 'vitest';
import { whileAuthorized } from './reauthorization.js';

async function* lines() {
  for (const line of ['a', 'b', 'c']) yield await Promise.resolve(line);
}

it('a long answer ends with an error once its caller would not be authorized any more', async () => {
  let calls = 0;
  const reauthorize = () => {
    calls += 1;
    return calls > 2 ? Promise.reject(new Error('disabled')) : Promise.resolve();
  };
  const read: string[] = [];
  const all = async () => {
    for await (const line of whileAuthorized({ reauthorize }, lines(), 0)) read.push(line);
  };
  await expect(all()).rejects.toThrow('disabled');
  expect(read).toEqual(['a', 'b']);
});

it('a short answer is not authorized again', async () => {
  const reauthorize = () => Promise.reject(new Error('disabled'));
  expect(await Array.fromAsync(whileAuthorized({ reauthorize }, lines()))).toEqual(['a', 'b', 'c']);
});
