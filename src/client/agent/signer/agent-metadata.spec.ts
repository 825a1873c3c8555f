import { describe, expect, it } from 'vitest';
import { askingProgramOf, agentMetadataOf, requestNameOf, withoutSecrets } from './agent-metadata.js';

describe('a command line shown to approvers', () => {
  it.each([
    [
      ['-storepass', 'hunter2', 'app.jar'],
      ['-storepass', '***', 'app.jar'],
    ],
    [
      ['--pin', '1234'],
      ['--pin', '***'],
    ],
    [
      ['--ks-pass', 'pass:hunter2'],
      ['--ks-pass', '***'],
    ],
    [
      ['-passin', 'pass:hunter2'],
      ['-passin', '***'],
    ],
    [['--password=hunter2'], ['--password=***']],
    [
      ['-key', 'pkcs11:object=release;pin-value=1234;type=private'],
      ['-key', 'pkcs11:object=release;pin-value=***;type=private'],
    ],
    [
      ['-passin', 'env:PASS', '-in', 'a'],
      ['-passin', 'env:PASS', '-in', 'a'],
    ],
    [
      ['--passive', 'yes', '-sha256', 'app.bin'],
      ['--passive', 'yes', '-sha256', 'app.bin'],
    ],
    [
      ['-pass', '-in'],
      ['-pass', '-in'],
    ],
  ])('%j', (given, shown) => {
    expect(withoutSecrets(given)).toEqual(shown);
  });

  it('omits the directory of the program and bidirectional control characters', () => {
    const { saidByClient } = agentMetadataOf(
      askingProgramOf('/usr/bin/jarsigner', ['a\u202Ebc\u0007']),
      'pkcs11',
      'code-signing',
    );
    expect(saidByClient).toMatchObject({ program: 'jarsigner', commandLine: 'jarsigner a bc ' });
  });

  it('is truncated when it is too long to read', () => {
    const { saidByClient } = agentMetadataOf(askingProgramOf('tool', ['x'.repeat(10_000)]), 'pkcs11', 'code-signing');
    expect(saidByClient.commandLine).toHaveLength(2000);
  });
});

describe('the idempotency key of a request', () => {
  const body = { digest: 'abc', metadata: { a: 1 } };
  const key = { id: 'k', version: 1 };
  it('is the same for equal requests', () => {
    expect(requestNameOf(body, key, undefined)).toBe(requestNameOf({ ...body }, { ...key }, undefined));
  });

  it.each([
    ['another digest', { ...body, digest: 'abd' }, key, undefined],
    ['another command line', { ...body, metadata: { a: 2 } }, key, undefined],
    ['another version of the key', body, { id: 'k', version: 2 }, undefined],
    ['a request that ended', body, key, 'earlier'],
  ])('differs for %s', (_, otherBody, otherKey, after) => {
    expect(requestNameOf(otherBody, otherKey, after)).not.toBe(requestNameOf(body, key, undefined));
  });

  it('is visible ASCII of at most 255 characters', () => {
    expect(requestNameOf(body, key, undefined)).toMatch(/^[\x21-\x7e]{1,255}$/);
  });
});
