import { describe, expect, it } from 'vitest';
import { readStreamDestinations } from '../../platform/config/stream-destinations.js';
import type { OutboundAnswer, OutboundOrder } from '../../platform/outbound/outbound-client.js';
import type { StreamedLeaf } from './formats/streamed-leaf.js';
import { HttpsSender } from './https-sender.js';
import { ReceiverRefused } from './stream-sender.js';

const [destination] = readStreamDestinations(['lake https://lake.example/in format=json']).destinations;
const entry = {
  id: 'i',
  at: '2026-11-26T19:00:00.000000Z',
  action: 'a.b',
  outcome: 'done',
  actor: { kind: 'user', id: 'u', name: 'n' },
  target: { kind: 't', id: 'x' },
  correlation: 'c',
  source: '',
  detail: { text: 'x'.repeat(300) },
};
const leaves = (count: number) =>
  Array.from({ length: count }, (_, number) => ({
    log: 'h/log',
    number,
    kind: 'entry',
    entryId: 'i',
    entry,
    record: undefined,
  })) as unknown as [StreamedLeaf, ...StreamedLeaf[]];

/** Returns a receiver that responds with the result of `answer` and stores the leaf numbers of each body. */
function receiver(answer: (body: string) => Partial<OutboundAnswer>) {
  if (destination === undefined) throw new Error('not a destination');
  const bodies: number[][] = [];
  const send = async ({ body = '' }: OutboundOrder): Promise<OutboundAnswer> => {
    bodies.push(
      body
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { number: number }).number),
    );
    return { status: 200, headers: {}, body: '', ...answer(body) };
  };
  return { bodies, sender: new HttpsSender(destination, { send }) };
}

describe('HTTPS', () => {
  it('acknowledges entries answered with 2xx, once', async () => {
    const { bodies, sender } = receiver(() => ({ status: 202 }));
    expect(await sender.send(leaves(3))).toBe(3);
    expect(bodies).toEqual([[0, 1, 2]]);
    expect(await sender.acknowledged()).toBe(3);
    expect(await sender.acknowledged()).toBeUndefined();
  });

  it.each([301, 400, 401, 429, 500, 503])('acknowledges nothing after a response %i', async (status) => {
    const { sender } = receiver(() => ({ status }));
    await expect(sender.send(leaves(3))).rejects.toThrow(`the receiver responded with ${status}`);
    expect(await sender.acknowledged()).toBeUndefined();
  });

  it('pauses for as long as the receiver requests', async () => {
    const { sender } = receiver(() => ({ status: 429, headers: { 'retry-after': '7' } }));
    const refused = await sender.send(leaves(1)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ReceiverRefused);
    expect(refused).toMatchObject({ retryAfterSeconds: 7 });
  });

  it('sends smaller batches after a receiver rejects the size, and reports how many entries it sent', async () => {
    const { bodies, sender } = receiver((body) => ({ status: body.length > 1500 ? 413 : 200 }));
    const all = leaves(8);
    const count = await sender.send(all);
    expect(count).toBeLessThan(8);
    expect(bodies.at(-1)).toEqual(all.slice(0, count).map(({ number }) => number));
    expect(await sender.acknowledged()).toBe(count);
  });

  it('sends a single oversized entry without its detail, and waits if that is still too large', async () => {
    const small = receiver((body) => ({ status: body.length > 450 ? 413 : 200 }));
    expect(await small.sender.send(leaves(1))).toBe(1);
    const none = receiver(() => ({ status: 413 }));
    await expect(none.sender.send(leaves(2))).rejects.toThrow('413 to a single entry');
  });

  it('limits bodies to a size that receivers accept', async () => {
    const { sender } = receiver((body) => ({ status: body.length > 512 * 1024 ? 413 : 200 }));
    const many = leaves(2000);
    const count = await sender.send(many);
    expect(count).toBeGreaterThan(500);
    expect(count).toBeLessThan(2000);
  });
});
