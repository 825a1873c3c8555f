import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { derElements } from '../../formats/asn1/der-reader.js';
import { element, oid, sequence } from '../../formats/asn1/der-writer.js';
import { fileHashIn } from './indirect-data.js';

const DIGEST = createHash('sha256').update('setup.exe').digest();
const NULL = Buffer.from([5, 0]);
const octets = (bytes: Buffer) => element(0x04, bytes);
const digestInfo = (digest = DIGEST, ...more: Buffer[]) =>
  sequence(sequence(oid('2.16.840.1.101.3.4.2.1'), NULL), octets(digest), ...more);
const FLAGS = Buffer.from([3, 1, 0]);
const link = (text: string) => element(0xa2, element(0x80, Buffer.from(text, 'utf16le').swap16()));
const image = (...parts: Buffer[]) => sequence(oid('1.3.6.1.4.1.311.2.1.15'), sequence(FLAGS, ...parts));
const int = Buffer.from([2, 1, 1]);
const sip = (...more: Buffer[]) =>
  sequence(oid('1.3.6.1.4.1.311.2.1.30'), sequence(int, octets(Buffer.alloc(16, 7)), int, int, int, int, int, ...more));
const CLASS = Buffer.from('a6b586d5b4a12466ae05a217da8e60d6', 'hex');
function pageHashes(table: Buffer, classId = CLASS): Buffer {
  const entry = sequence(oid('1.3.6.1.4.1.311.2.3.2'), element(0x31, octets(table)));
  return element(0xa0, element(0xa1, Buffer.concat([octets(classId), octets(element(0x31, entry))])));
}
const page = (offset: number) => Buffer.concat([Buffer.from(new Uint32Array([offset]).buffer), DIGEST]);
const hashOf = (...parts: Buffer[]) => {
  const [content] = derElements(sequence(...parts));
  if (content === undefined) throw new Error('there is an element');
  return fileHashIn(content);
};

describe('the hash of a file is extracted', () => {
  it.each<[string, Buffer]>([
    ['a program', image(element(0xa0, link('<<<Obsolete>>>')))],
    ['a program without a name', image(element(0xa0, link('')))],
    ['a program with page hashes', image(pageHashes(Buffer.concat([page(0), page(4096)])))],
    ['a cabinet', sequence(oid('1.3.6.1.4.1.311.2.1.25'), link('<<<Obsolete>>>'))],
    ['an installer', sip()],
  ])('from the structure of %s', (_, data) => {
    expect(hashOf(data, digestInfo())).toEqual({ digest: DIGEST, algorithm: 'sha256' });
  });
});

describe('a structure with caller-chosen bytes is rejected', () => {
  const script = Buffer.from('\n/bin/sh\necho pwned;exit\n');
  it.each<[string, Buffer[]]>([
    ['a script in place of the type', [element(0x23, script), digestInfo()]],
    ['a script behind the hash', [image(), digestInfo(), octets(script)]],
    [
      'a script behind the value',
      [sequence(oid('1.3.6.1.4.1.311.2.1.15'), sequence(FLAGS), octets(script)), digestInfo()],
    ],
    ['another type', [sequence(oid('1.2.840.113549.1.7.1'), octets(script)), digestInfo()]],
    ['a name of the file', [image(element(0xa0, link('\necho pwned\n'))), digestInfo()]],
    ['long flags', [sequence(oid('1.3.6.1.4.1.311.2.1.15'), sequence(element(3, script))), digestInfo()]],
    ['page hashes of another class', [image(pageHashes(page(0), Buffer.alloc(16))), digestInfo()]],
    ['a table that is none', [image(pageHashes(Buffer.concat([page(0), script]))), digestInfo()]],
    ['offsets that fall', [image(pageHashes(Buffer.concat([page(4096), page(0)]))), digestInfo()]],
    ['more numbers', [sip(octets(script)), digestInfo()]],
    ['more in the hash', [image(), digestInfo(DIGEST, octets(script))]],
    [
      'parameters of the hash',
      [image(), sequence(sequence(oid('2.16.840.1.101.3.4.2.1'), octets(script)), octets(DIGEST))],
    ],
    ['a hash that is too short', [image(), digestInfo(DIGEST.subarray(1))]],
    ['nothing', []],
  ])('%s', (_, parts) => {
    expect(() => hashOf(...parts)).toThrow(RangeError);
  });
});
