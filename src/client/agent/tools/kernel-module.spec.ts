import { describe, expect, it } from 'vitest';
import { withModuleSignature, withoutModuleSignature } from './kernel-module.js';

const CONTENT = Buffer.from('\x7fELF a module');
const SIGNATURE = Buffer.from('3003020101', 'hex');

describe('a signature appended to a kernel module', () => {
  it('is followed by its description and marker, which the kernel reads from the end', () => {
    const signed = withModuleSignature(CONTENT, SIGNATURE);
    expect(signed.subarray(-28).toString()).toBe('~Module signature appended~\n');
    expect(signed.subarray(-40, -28).toString('hex')).toBe('000002000000000000000005');
    expect(signed.subarray(-45, -40)).toEqual(SIGNATURE);
    expect(signed.subarray(0, -45)).toEqual(CONTENT);
  });

  it('is removed before the module is signed again', () => {
    expect(withoutModuleSignature(withModuleSignature(CONTENT, SIGNATURE))).toEqual(CONTENT);
    expect(withoutModuleSignature(CONTENT)).toEqual(CONTENT);
  });

  it.each([
    ['that is longer than the file', Buffer.concat([Buffer.from('00000200000000000000ffff', 'hex')])],
    ['whose description is cut off', Buffer.alloc(4)],
  ])('%s is not removed', (_, info) => {
    const file = Buffer.concat([info, Buffer.from('~Module signature appended~\n')]);
    expect(withoutModuleSignature(file)).toEqual(file);
  });
});
