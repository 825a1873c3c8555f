import { describe, expect, it } from 'vitest';
import { CKA, CKM } from '../../../formats/pkcs/cryptoki.js';
import { RpcFault, RpcReader, RpcWriter } from './rpc-message.js';

const NULL_ARRAY = 'ffffffff';
const KEY = '0000000000000001';
const PSS = '000000000000025000000000000000020000000000000020';
const hex = (...parts: string[]) => Buffer.from(parts.join(''), 'hex');
const mechanismOf = (...parts: string[]) => {
  const reader = new RpcReader(hex(...parts, KEY));
  const found = reader.mechanism(8);
  expect(reader.ulong()).toBe(1);
  reader.end();
  return { type: found.type, parameters: found.parameters.toString('hex') };
};

describe('mechanism parameters', () => {
  it.each([
    ['without parameters, up to 0.25.5: a null array', ['00000001', NULL_ARRAY], CKM.RSA_PKCS, ''],
    ['without parameters, from 0.25.6: nothing', ['00000001'], CKM.RSA_PKCS, ''],
    ['PSS up to 0.25.5: the parameters at once', ['0000000d', PSS], CKM.RSA_PKCS_PSS, PSS],
    ['PSS from 0.25.6: a byte before them', ['0000000d', '01', PSS], CKM.RSA_PKCS_PSS, PSS],
    ['the null mechanism', [NULL_ARRAY], undefined, ''],
  ])('%s', (_, parts, type, parameters) => {
    expect(mechanismOf(...parts)).toEqual({ type, parameters });
  });

  it('that are truncated are rejected', () => {
    expect(() => new RpcReader(hex('00000001', '0000')).mechanism(8)).toThrow(RpcFault);
  });
});

describe('response buffer size', () => {
  it.each([
    ['00000000', { asksLength: true, size: 0 }],
    ['ffffffff', { asksLength: false, size: 0 }],
    ['00000100', { asksLength: false, size: 256 }],
  ])('%s', (bytes, room) => {
    expect(new RpcReader(hex(bytes)).room()).toEqual(room);
  });

  it('that is too small returns only the length', () => {
    const answer = new RpcWriter().byteArray(Buffer.alloc(300), { asksLength: false, size: 299 });
    expect(answer.bytes().toString('hex')).toBe('000000012c');
  });
});

describe('an attribute', () => {
  it('is written in the encoding of its type, and read back', () => {
    const written = new RpcWriter()
      .uint32(4)
      .attribute(CKA.SIGN, hex('01'))
      .attribute(CKA.CLASS, hex('0000000000000003'))
      .attribute(CKA.LABEL, Buffer.from('release'))
      .attribute(CKA.ALLOWED_MECHANISMS, hex('0000000000000001', '000000000000000d'));
    const reader = new RpcReader(written.bytes());
    expect(reader.template().map(({ value }) => value?.toString('hex'))).toEqual([
      '01',
      '0000000000000003',
      Buffer.from('release').toString('hex'),
      '0000000000000001000000000000000d',
    ]);
    reader.end();
  });

  it('truncates text that is too long at a character boundary', () => {
    const text = new RpcWriter().padded('ä'.repeat(20), 31).bytes().subarray(4);
    expect(text.toString()).toBe(`${'ä'.repeat(15)} `);
  });
});

describe('lengths are validated before allocation', () => {
  it.each([
    ['bytes', '01ffffff00', (reader: RpcReader) => reader.byteArray()],
    ['attributes', '7fffffff', (reader: RpcReader) => reader.template()],
    ['rooms', '00000101', (reader: RpcReader) => reader.attributeRooms()],
    ['mechanisms', '000000014000060001000000080fffffff', (reader: RpcReader) => reader.template()],
  ])('%s', (_, bytes, read) => {
    expect(() => read(new RpcReader(hex(bytes)))).toThrow(RpcFault);
  });
});
