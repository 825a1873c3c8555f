import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SIGNER_PURPOSES, DIGEST_BYTES, type DigestAlgorithm, KEY_TYPES, SCHEMES } from '../key-vault.js';
import { OUTCOMES } from '../pkcs11/key-process-fault.js';
import { decodeOrders, decodeResults, encodeOrders, encodeResults } from './order-codec.js';

const number = fc.integer({ min: 0, max: 0xffffffff });
const bytes = (minLength: number, maxLength: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength, maxLength }).map((value) => Buffer.from(value));

const ascii = fc.string({ unit: 'binary-ascii', maxLength: 128 });
const order = fc.constantFrom(...(Object.keys(DIGEST_BYTES) as DigestAlgorithm[])).chain((algorithm) =>
  fc.record({
    key: fc.record({
      ckaId: bytes(1, 255),
      identity: fc.record({ purpose: fc.constantFrom(...SIGNER_PURPOSES), owner: ascii }),
      type: fc.constantFrom(...KEY_TYPES),
      publicKey: bytes(0, 600),
    }),
    scheme: fc.constantFrom(...SCHEMES),
    algorithm: fc.constant(algorithm),
    digest: bytes(DIGEST_BYTES[algorithm], DIGEST_BYTES[algorithm]),
  }),
);
const orders = fc.array(fc.record({ id: number, order }), { maxLength: 20 });
const results = fc.array(fc.record({ id: number, outcome: fc.constantFrom(...OUTCOMES), bytes: bytes(0, 600) }), {
  maxLength: 20,
});

describe('messages between the processes', () => {
  it('carry orders unchanged', () => {
    fc.assert(
      fc.property(orders, (sent) => {
        expect(decodeOrders(encodeOrders(sent))).toEqual(sent);
      }),
    );
  });

  it('carry results unchanged', () => {
    fc.assert(
      fc.property(results, (sent) => {
        expect(decodeResults(encodeResults(sent))).toEqual(sent);
      }),
    );
  });

  it('are rejected when truncated or unknown', () => {
    const block = encodeResults([{ id: 1, outcome: 'done', bytes: Buffer.alloc(10) }]);
    expect(() => decodeResults(block.subarray(0, -1))).toThrow(RangeError);
    block[4] = 99;
    expect(() => decodeResults(block)).toThrow(RangeError);
  });
});
