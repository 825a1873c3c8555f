import { expect, it } from 'vitest';
import type { SignatureOrder } from '../signer/remote-signer.js';
import { AnsweredOrders, NotedOrders } from './noted-orders.js';

const KEY = { id: 'k', name: 'release', version: 1, type: 'rsa-3072', purpose: 'code-signing', publicKey: Buffer.alloc(0), chain: [] }; // prettier-ignore
const order = (byte: number, more: Partial<SignatureOrder> = {}): SignatureOrder => ({
  key: KEY,
  digest: Buffer.alloc(32, byte),
  algorithm: 'sha256',
  scheme: 'rsa-pkcs1v15',
  purpose: 'code-signing',
  signal: new AbortController().signal,
  ...more,
});

it('a dry run returns no signature to the tool, and records each digest once, with its first file', async () => {
  const noted = new NotedOrders();
  for (const [byte, file] of [
    [1, 'a.ko'],
    [2, 'b.ko'],
    [1, 'copy.ko'],
  ] as const)
    // prettier-ignore
    expect(await noted.note(order(byte), file)).toMatchObject({ kind: 'withdrawn' });
  expect(noted.all.map(({ digest, fileName }) => [digest[0], fileName])).toEqual([[1, 'a.ko'], [2, 'b.ko']]); // prettier-ignore
});

it('a second run returns the signature for exactly the recorded request', async () => {
  const signature = Buffer.from('signature');
  const answered = new AnsweredOrders();
  answered.add(order(1), { kind: 'signed', signature });
  const said: string[] = [];
  const answer = (one: SignatureOrder) => answered.answer(one, (line) => said.push(line));
  expect(await answer(order(1))).toEqual({ kind: 'signed', signature });
  expect(said).toEqual([]);
  const others = [
    order(2),
    order(1, { scheme: 'rsa-pss' }),
    order(1, { algorithm: 'sha384' }),
    order(1, { key: { ...KEY, version: 2 } }),
    order(1, { key: { ...KEY, id: 'other' } }),
  ];
  for (const other of others) expect(await answer(other)).toMatchObject({ kind: 'refused' });
  expect(said).toHaveLength(others.length);
});

it('one unsigned request is found among the others', () => {
  const answered = new AnsweredOrders();
  answered.add(order(1), { kind: 'signed', signature: Buffer.alloc(1) });
  expect(answered.firstFailure).toBeUndefined();
  answered.add(order(2), { kind: 'rejected', detail: 'no' });
  expect(answered.firstFailure).toEqual({ kind: 'rejected', detail: 'no' });
});
