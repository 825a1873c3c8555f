import { describe, expect, it } from 'vitest';
import { readKeyFiles, readKeyUses } from './host-reading.js';
import type { HostSurvey } from './host-survey.js';

const FINGERPRINT = `SHA256:${'a'.repeat(43)}`;
const LOGIN = `host sshd[7]: Accepted publickey for root from 192.0.2.7 port 40000 ssh2: ED25519 ${FINGERPRINT}`;
const times = (line: string, clock: string, ahead = 0) =>
  readKeyUses(line, { clock: new Date(clock), ahead }, true).map(({ at }) => at);

describe('a login in a host log', () => {
  const said = `Accepted publickey for root from 192.0.2.7 port 1 ssh2: ED25519 ${FINGERPRINT}`;
  const at = '2026-03-01T10:00:00Z host';
  it.each([
    `${at} sshd[7]: ${said}`,
    `${at} sshd-session[7]: ${said}`,
    `${at} sshd[7]: ${said} ID ann (serial 7) CA ED25519 ${FINGERPRINT}`,
    `Mar  1 10:00:00 host sshd[7]: ${said}`,
  ])('is read from a complete sshd message: %s', (line) => {
    expect(readKeyUses(line, { clock: new Date('2026-03-02T00:00:00Z'), ahead: 0 }, true)).toHaveLength(1);
  });

  it.each([
    `${at} sshd[7]: error: kex_exchange_identification: client sent invalid protocol identifier "${said}"`,
    `${at} sshd[7]: Invalid user ${said}`,
    `${at} sshd[7]: ${said} and more`,
    `${at} other[7]: ${said}`,
    `${at} other[7]: sshd[7]: ${said}`,
    said,
  ])('is not read from client-controlled text, nor from a line of another program: %s', (line) => {
    expect(readKeyUses(line, { clock: new Date('2026-03-02T00:00:00Z'), ahead: 0 }, true)).toEqual([]);
  });
});

describe('the time of a login in a host log', () => {
  it.each([
    ['with its zone', `2026-03-01T10:00:00.5+0100 ${LOGIN}`, 0, '2026-03-01T09:00:00.000Z'],
    ['without a zone, of a host two hours ahead of UTC', `Mar  1 10:00:00 ${LOGIN}`, 120, '2026-03-01T08:00:00.000Z'],
    [
      'without a year, which is the last when it were still to come',
      `Dec 31 23:59:59 ${LOGIN}`,
      0,
      '2025-12-31T23:59:59.000Z',
    ],
  ])('is read %s', (_, line, ahead, at) => {
    expect(times(line, '2026-03-01T12:00:00Z', ahead)).toEqual([at]);
  });

  it.each([`Mai  1 10:00:00 ${LOGIN}`, `Xyz  1 10:00:00 ${LOGIN}`, LOGIN])(
    'excludes the line if it cannot be parsed: %s',
    (line) => {
      expect(times(line, '2026-06-01T12:00:00Z')).toEqual([]);
    },
  );
});

it('a login from a log file, in which any account can write, is marked as unverified', () => {
  const evidence = (isJournal: boolean) =>
    readKeyUses(`2026-03-01T10:00:00Z ${LOGIN}`, { clock: new Date('2026-03-02T00:00:00Z'), ahead: 0 }, isJournal).map(
      (use) => use.evidence,
    );
  expect(evidence(true)[0]).toMatch(/^2026-03-01/);
  expect(evidence(false)[0]).toMatch(/^unverified, from a log file: 2026-03-01/);
});

describe('the process that reads the files of an account', () => {
  const field = (text: string) => Buffer.from(text);
  const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1Wl2dAhXrbGJ4Y0wVvKkqmZ0Kjb5o0cQ4sQHqW8Xkx eve';
  const line = (tag: string, ...fields: string[]) =>
    [tag, ...fields.map((one) => field(one).toString('base64'))].join('\t');
  const read = (said: string) =>
    readKeyFiles([{ tag: 'of', fields: [field('eve'), field('/home/eve/.ssh/authorized_keys\n'), field(said)] }], {
      accounts: [
        { name: 'eve', uid: 1001, home: '/home/eve' },
        { name: 'bob', uid: 1002, home: '/home/bob' },
      ],
    } as unknown as HostSurvey);

  it('reports only for this account and the requested paths', () => {
    const own = [line('lines', '/home/eve/.ssh/authorized_keys', '1'), line('data', `${KEY}\n`)];
    const forged = [
      line('of', 'bob'),
      line('lines', '/home/bob/.ssh/authorized_keys', '1'),
      line('data', `${KEY}\n`),
      line('missing', '/root/.ssh/authorized_keys'),
      line('denied', '/etc/x'),
    ];
    const { lines, readPaths, denied } = read([...own, ...forged, 'end\n'].join('\n'));
    expect(lines.map(({ account, uid, path }) => [account, uid, path])).toEqual([
      ['eve', 1001, '/home/eve/.ssh/authorized_keys'],
    ]);
    expect({ readPaths, denied }).toEqual({ readPaths: ['/home/eve/.ssh/authorized_keys'], denied: [] });
  });

  it('reports nothing if its output is incomplete', () => {
    const { lines, readPaths, denied } = read(line('lines', '/home/eve/.ssh/authorized_keys', '1'));
    expect({ lines, readPaths, denied }).toEqual({
      lines: [],
      readPaths: [],
      denied: ['/home/eve/.ssh/authorized_keys'],
    });
  });
});
