import { describe, expect, it } from 'vitest';
import { DER, derElements, derHeader, dotted, elementsOfSequence, bitLength } from './der-reader.js';

const hex = (text: string) => Buffer.from(text, 'hex');

describe('a DER element', () => {
  it('is parsed into tag, contents and encoded size', () => {
    expect(derElements(hex('0201050400'))).toEqual([
      { tag: DER.integer, contents: hex('05'), raw: hex('020105') },
      { tag: DER.octetString, contents: hex(''), raw: hex('0400') },
    ]);
    expect(elementsOfSequence(hex('3003020105')).map(({ tag }) => tag)).toEqual([DER.integer]);
  });

  it('has a length of up to four octets', () => {
    expect(derHeader(hex('04820100'))).toEqual({ tag: DER.octetString, start: 4, length: 256 });
    expect(derHeader(hex('0484ffffffff'))).toMatchObject({ length: 0xffffffff });
  });

  it.each([
    ['an indefinite length', '30800000'],
    ['a length of five octets', '04850000000001'],
    ['a tag of 31 and above', '1f8101'],
    ['a length that is cut short', '0482'],
    ['contents that are cut short', '040501'],
    ['nothing behind its tag', '04'],
  ])('is rejected with %s', (_, bytes) => {
    expect(() => derElements(hex(bytes))).toThrow(RangeError);
  });
});

describe('an object identifier', () => {
  it.each([
    ['2a864886f70d010101', '1.2.840.113549.1.1.1'],
    ['2b6570', '1.3.101.112'],
    ['8837', '2.999'],
  ])('%s is %s', (contents, text) => expect(dotted(hex(contents))).toBe(text));

  it('of one megabyte is rejected, because formatting it would take minutes', () => {
    expect(() => dotted(Buffer.alloc(1024 * 1024, 0xff))).toThrow(RangeError);
  });
});

it('the bit length of an INTEGER ignores leading zeros', () => {
  expect([hex('00'), hex('01'), hex('0080'), hex('00ffff')].map(bitLength)).toEqual([0, 1, 8, 16]);
});
