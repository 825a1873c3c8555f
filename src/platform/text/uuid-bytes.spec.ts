import { createHash, hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { uuidAt, uuidOfDigest, writeUuid } from './uuid-bytes.js';

const TEXTS = Array.from({ length: 300 }, (_, index) => `asset ${index}`);

describe('the UUID of a digest', () => {
  it('has version 8 and the RFC 9562 variant, and all other bits of the digest', () => {
    for (const text of TEXTS) {
      const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
      bytes.writeUInt8((bytes.readUInt8(6) % 16) + 0x80, 6);
      bytes.writeUInt8((bytes.readUInt8(8) % 64) + 0x80, 8);
      expect(uuidOfDigest(hash('sha256', text, 'binary'))).toBe(uuidAt(bytes, 0));
    }
  });

  it('is the same in every version of the service, because asset IDs depend on it', () => {
    expect(uuidOfDigest(hash('sha256', '["asset"]', 'binary'))).toBe('9e90ac91-99a1-81a6-a077-7a223dcf8a88');
  });
});

it('a UUID is written as bytes and read back as text', () => {
  const bytes = Buffer.alloc(20, 0xff);
  for (const text of TEXTS) {
    const id = uuidOfDigest(hash('sha256', text, 'binary'));
    expect(writeUuid(bytes, id, 3)).toBe(19);
    expect(uuidAt(bytes, 3)).toBe(id);
  }
  expect([bytes[2], bytes[19]]).toEqual([0xff, 0xff]);
});
