import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readCertificateLine } from '../../formats/ssh/certificate-reader.js';
import { RENEWAL_NAMESPACE, renewalMessage } from '../../formats/ssh/sshsig.js';
import { Problem } from '../../platform/errors/problem.js';
import { assertProven, assertRenewable, isFrom, nextTimes } from './renewal-rules.js';

const directory = mkdtempSync(join(tmpdir(), 'renewal-'));
afterAll(() => rmSync(directory, { recursive: true }));

const keygen = (args: string[], input = '') =>
  execFileSync('ssh-keygen', ['-q', ...args], {
    cwd: directory,
    input,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
for (const name of ['ca', 'host', 'other']) keygen(['-t', 'ed25519', '-N', '', '-f', name]);
keygen(['-s', 'ca', '-h', '-I', 'web-1', '-n', 'web-1.example', '-V', '-1d:+1d', 'host.pub']);
const shown = readCertificateLine(readFileSync(join(directory, 'host-cert.pub'), 'utf8'));
if (shown === undefined) throw new Error('ssh-keygen made no certificate');
const NOW = new Date('2027-01-11T00:00:00Z');
const sign = (message: string, key = 'host', namespace = RENEWAL_NAMESPACE) =>
  keygen(['-Y', 'sign', '-n', namespace, '-f', key], message);

/** Returns the problem code that the function throws, or undefined if the function does not throw. */
function codeOf(work: () => void): string | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
  return undefined;
}

describe('a host proves possession of its certificate key', () => {
  const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
  const signed = (signedAt = NOW, signature = sign(renewalMessage(shown.blob, signedAt))) =>
    codeOf(() => assertProven(shown, { signedAt, signature }, NOW));

  it('with an ssh-keygen signature within the clock tolerance', () => {
    expect(signed()).toBeUndefined();
    expect(signed(minutes(-4))).toBeUndefined();
    expect(signed(minutes(4))).toBeUndefined();
  });

  it.each<[string, string, () => string | undefined]>([
    ['with another key', 'ssh-renewal.proof', () => signed(NOW, sign(renewalMessage(shown.blob, NOW), 'other'))],
    [
      'for another purpose',
      'ssh-renewal.proof',
      () => signed(NOW, sign(renewalMessage(shown.blob, NOW), 'host', 'git')),
    ],
    ['over another certificate', 'ssh-renewal.proof', () => signed(NOW, sign(renewalMessage(Buffer.from('x'), NOW)))],
    ['over another time', 'ssh-renewal.proof', () => signed(NOW, sign(renewalMessage(shown.blob, minutes(1))))],
    ['that is old', 'ssh-renewal.clock', () => signed(minutes(-6))],
    ['from the future', 'ssh-renewal.clock', () => signed(minutes(6))],
    ['that is none', 'ssh-renewal.proof', () => signed(NOW, 'none')],
  ])('but not with one %s', (_what, code, given) => {
    expect(given()).toBe(code);
  });
});

describe('the renewal of a host certificate', () => {
  const certificate = { validAfter: new Date('2027-01-01T00:00:00Z'), validBefore: new Date('2027-01-13T00:00:00Z') };
  const terms = { until: '2027-02-01T00:00:00Z', sourceAddress: '192.0.2.0/28,2001:db8::7' };
  const renewal = (change: { terms?: typeof terms | undefined; address?: string; now?: Date }) => {
    const { address = '192.0.2.9', now = NOW } = change;
    return codeOf(() => assertRenewable(certificate, 'terms' in change ? change.terms : terms, { address, now }));
  };

  it('is allowed in the second half of its lifetime, for its own addresses', () => {
    expect(renewal({})).toBeUndefined();
    expect(renewal({ address: '2001:db8:0::7' })).toBeUndefined();
    expect(renewal({ address: '::ffff:192.0.2.9' })).toBeUndefined();
  });

  it.each<[string, string, Parameters<typeof renewal>[0]]>([
    ['when nobody said that the host may', 'ssh-renewal.terms', { terms: undefined }],
    ['when it lasts as long as it may', 'ssh-renewal.terms', { terms: { ...terms, until: '2027-01-13T00:00:00Z' } }],
    ['when it is over', 'ssh-renewal.expired', { now: new Date('2027-01-13T00:00:00Z') }],
    ['in the first half of its life', 'ssh-renewal.early', { now: new Date('2027-01-06T23:59:59Z') }],
    ['for another address', 'ssh-renewal.address', { address: '192.0.2.16' }],
    ['for an address that cannot be read', 'ssh-renewal.address', { address: '192.0.2.09' }],
  ])('is rejected %s', (_when, code, change) => {
    expect(renewal(change)).toBe(code);
  });

  it('keeps the lifetime, always sets an expiry, and never exceeds the limits', () => {
    const next = nextTimes(certificate, terms, NOW);
    const life = (one: typeof certificate) => one.validBefore.getTime() - one.validAfter.getTime();
    expect(life(next)).toBe(life(certificate));
    expect(nextTimes(certificate, { ...terms, until: '2027-01-14T00:00:00Z' }, NOW).validBefore).toEqual(
      new Date('2027-01-14T00:00:00Z'),
    );
  });

  it.each([
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '10.0.0.0/8,192.0.2.0/24', true],
    ['192.0.2.7', '2001:db8::/32', false],
    ['host', '0.0.0.0/0', false],
  ])('with address %s and networks %s is allowed: %s', (address, networks, expected) => {
    expect(isFrom(address, networks)).toBe(expected);
  });
});
