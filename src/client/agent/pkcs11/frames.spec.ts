import { describe, expect, it } from 'vitest';
import { answerFrame, FrameReader, MAX_BODY_BYTES, questionOf } from './frames.js';
import { RpcFault } from './rpc-message.js';

const frames = [1, 2, 3].map((number) => answerFrame(number, 10, 'uu', Buffer.alloc(16, number)));
const stream = Buffer.concat(frames);

describe('messages', () => {
  it.each([1, 2, 5, 11, 12, 13, 40, 1000])('are reassembled from chunks of %i bytes', (size) => {
    const reader = new FrameReader();
    const found = [];
    for (let at = 0; at < stream.length; at += size) found.push(...reader.push(stream.subarray(at, at + size)));
    expect(found.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(found.map(({ body }) => questionOf(body).args)).toEqual([1, 2, 3].map((value) => Buffer.alloc(16, value)));
  });

  it('that exceed the maximum length are rejected at their header', () => {
    const header = Buffer.alloc(12);
    header.writeUInt32BE(MAX_BODY_BYTES + 1, 8);
    expect(() => new FrameReader().push(header)).toThrow(RpcFault);
  });

  it.each([[''], ['0000000a'], ['0000000a00000040'], ['0000000affffffff']])(
    'without a call and its types are rejected: %j',
    (body) => {
      expect(() => questionOf(Buffer.from(body, 'hex'))).toThrow(RpcFault);
    },
  );
});
