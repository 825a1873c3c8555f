import { mkdirSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vote } from '../approvals/approvers.js';
import { has } from '../support/peers.js';
import { read } from '../support/signing.js';
import {
  newGuardedOpenPgpKey,
  newOpenPgpKey,
  openOpenPgpStage,
  type OpenPgpKey,
  type OpenPgpStage,
  waitingRequest,
} from './openpgp-keys.js';

const GPG = '/usr/bin/gpg';
const TYPES = ['rsa-3072', 'ec-p256', 'ec-p384'] as const;
const TEXT = 'A text that was released.\n- with a dash  \nFrom here\n\nlast line without an end';

let place: OpenPgpStage;
const keys = new Map<string, OpenPgpKey>();
const keyOf = (type: string): OpenPgpKey => keys.get(type) ?? expect.unreachable(type);
const at = (name: string): string => join(place.home, name);

beforeAll(async () => {
  place = await openOpenPgpStage();
  for (const type of TYPES) keys.set(type, await newOpenPgpKey(place, type));
});
afterAll(() => place.close());

/** Creates a keyring with one certificate for gpgv and sqv. */
async function keyring({ name, certificate }: OpenPgpKey): Promise<string> {
  const file = at(`${name}.gpg`);
  writeFileSync(`${file}.asc`, certificate);
  const { code } = await place.run(GPG, ['--batch', '--yes', '--dearmor', '-o', file, `${file}.asc`]);
  expect(code).toBe(0);
  return file;
}

describe.skipIf(!has('gpg')).each(TYPES)('sealwright gpg with %s', (type) => {
  it('--detach-sign: gpg, gpgv and sqv accept it for this document only', async () => {
    const { name, fingerprint } = keyOf(type);
    const file = at(`detached-${type}`);
    writeFileSync(file, TEXT);
    const signed = await place.run('gpg', ['--status-fd', '2', '-u', name, '--detach-sign', file]);
    expect(signed).toMatchObject({
      code: 0,
      err: expect.stringMatching(/\[GNUPG:\] SIG_CREATED D \d+ \d+ 00 \d+ [0-9A-F]{40}/),
    });
    expect(signed.err).toContain(fingerprint);
    const ring = await keyring(keyOf(type));
    const verifiers: [string, string[]][] = [
      [GPG, ['--verify', `${file}.sig`, file]],
      ['gpgv', ['--keyring', ring, `${file}.sig`, file]],
      ...(has('sqv') ? [['sqv', ['--keyring', ring, `${file}.sig`, file]] as [string, string[]]] : []),
    ];
    for (const [program, args] of verifiers)
      expect([program, (await place.run(program, args)).code]).toEqual([program, 0]);
    writeFileSync(file, TEXT.replace('released', 'releaseD'));
    for (const [program, args] of verifiers) expect((await place.run(program, args)).code).not.toBe(0);
  });

  it.each([
    ['a text with every kind of line', TEXT],
    ['line endings of Windows and blanks', 'a \t\r\nb\r\n\r\n'],
    ['nothing', ''],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x0a])],
  ])('--clearsign: gpg and gpgv accept %s', async (_, text) => {
    const signed = await place.run('gpg', ['--clearsign', '-u', keyOf(type).fingerprint], { input: text });
    expect(signed.code).toBe(0);
    expect((await place.run(GPG, ['--verify'], { input: signed.out })).code).toBe(0);
    const ring = await keyring(keyOf(type));
    writeFileSync(at('clear.asc'), signed.out);
    expect((await place.run('gpgv', ['--keyring', ring, at('clear.asc')])).code).toBe(0);
  });

  it.each([
    ['a file', (file: string) => ['--sign', '-o', `${file}.gpg`, file]],
    ['a file, in armor', (file: string) => ['-s', '-a', '-o', `${file}.gpg`, file]],
    ['a text', (file: string) => ['-s', '-t', '--yes', '-o', `${file}.gpg`, file]],
    ['as GPGME calls it', (file: string) => ['--batch', '--no-tty', '--sign', '-o', `${file}.gpg`, '--', file]],
  ])('--sign: gpg accepts the message and extracts the signed content: %s', async (how, args) => {
    const file = at(`inline ${how} ${type}`);
    writeFileSync(file, TEXT);
    const signed = await place.run('gpg', ['--status-fd', '2', '-u', keyOf(type).name, ...args(file)]);
    expect(signed).toMatchObject({ code: 0, err: expect.stringMatching(/\[GNUPG:\] SIG_CREATED S \d+ \d+ 0[01] \d+ [0-9A-F]{40}/) }); // prettier-ignore
    const opened = await place.run(GPG, ['--status-fd', '2', '--decrypt', `${file}.gpg`]);
    expect(opened).toMatchObject({ code: 0, err: expect.stringContaining('VALIDSIG') });
    expect(opened.out.toString()).toBe(TEXT);
  });

  it('--sign: gpg rejects the message after its content was changed', async () => {
    const file = at(`changed ${type}`);
    writeFileSync(file, TEXT);
    await place.run('gpg', ['-u', keyOf(type).name, '--sign', '-o', `${file}.gpg`, file]);
    const message = readFileSync(`${file}.gpg`);
    message[message.indexOf('released')] = 'R'.charCodeAt(0);
    writeFileSync(`${file}.gpg`, message);
    expect((await place.run(GPG, ['--verify', `${file}.gpg`])).code).not.toBe(0);
  });

  it('--sign reads standard input and writes standard output, as skopeo and podman use it', async () => {
    const signed = await place.run('gpg', ['--sign', '-u', keyOf(type).fingerprint], { input: TEXT });
    expect(signed.code).toBe(0);
    const opened = await place.run(GPG, ['--decrypt'], { input: signed.out });
    expect([opened.code, opened.out.toString()]).toEqual([0, TEXT]);
  });

  it.each(['--sig-notation a@example.org=1', '--default-sig-expire 1d', '--sig-policy-url https://example.org/'])(
    '%s is rejected, because the signature would not include it',
    async (option) => {
      const signed = await place.run('gpg', [...option.split(' '), '-u', keyOf(type).name, '-b', '-o', '-'], { input: TEXT }); // prettier-ignore
      expect(signed).toMatchObject({ code: 2, err: expect.stringContaining('has no effect') });
    },
  );

  it('signs for JGit: by committer address, with the signature on standard output', async () => {
    const address = `<${keyOf(type).name}@example.org>`;
    const args = ['-bsau', address, '--batch', '--no-tty', '--status-fd', '2', '--output', '-'];
    const signed = await place.run('gpg', args, { input: TEXT });
    expect(signed).toMatchObject({ code: 0, err: expect.stringContaining('[GNUPG:] SIG_CREATED D') });
    expect(signed.out.toString()).toMatch(/^-----BEGIN PGP SIGNATURE-----/);
  });

  it('--textmode: a text remains signed when its line endings change', async () => {
    writeFileSync(at('text'), 'one\ntwo\n');
    const signed = await place.run('gpg', ['-t', '-b', '-u', keyOf(type).name, '-o', '-', at('text')]);
    writeFileSync(at('text.sig'), signed.out);
    writeFileSync(at('text'), 'one\r\ntwo\r\n');
    expect((await place.run(GPG, ['--verify', at('text.sig'), at('text')])).code).toBe(0);
  });

  it('is selected by each kind of name that gpg accepts', async () => {
    const { name, fingerprint, userId } = keyOf(type);
    const names = [
      fingerprint,
      fingerprint.slice(-16),
      `0x${fingerprint.slice(-8)}`,
      `<${name}@example.org>`,
      `=${userId}`,
      name,
    ];
    for (const one of names) {
      const listed = await place.run('gpg', ['--with-colons', '--list-secret-keys', one]);
      expect([one, listed.out.toString()]).toEqual([one, expect.stringContaining(`fpr:::::::::${fingerprint}:`)]);
    }
  });

  it('--passphrase-fd 0: signs what follows the first line', async () => {
    writeFileSync(at('behind'), TEXT);
    const options = ['--batch', '--pinentry-mode', 'loopback', '--passphrase-fd', '0', '-u', keyOf(type).name, '-ab'];
    const signed = await place.run('gpg', options, { input: `secret\n${TEXT}` });
    writeFileSync(at('behind.asc'), signed.out);
    expect((await place.run(GPG, ['--verify', at('behind.asc'), at('behind')])).code).toBe(0);
  });

  it('--export writes a key that gpg imports with the same fingerprint', async () => {
    const { name, fingerprint } = keyOf(type);
    for (const armor of [[], ['--armor']]) {
      const { out } = await place.run('gpg', [...armor, '--export', name]);
      const shown = await place.run(GPG, ['--with-colons', '--show-keys'], { input: out });
      expect(shown.out.toString()).toContain(fingerprint);
    }
  });
});

describe.skipIf(!has('gpg'))('an expiring OpenPGP key', () => {
  const until = async (days: number) => {
    const key = await newOpenPgpKey(place, 'ec-p256');
    const expiresAt = new Date(Date.now() + days * 24 * 3600 * 1000 + 3600 * 1000).toISOString();
    const body = { userIds: [key.userId], expiresAt };
    const path = `/api/v1/signing-keys/${key.id}/openpgp`;
    expect((await place.service.call('POST', path, { key: place.apiKey, body })).status).toBe(200);
    return key.name;
  };

  it.each(['--sign', '--detach-sign', '--clearsign'])(
    'is announced 30 days before by %s, which still signs',
    async (task) => {
      const args = [task, '-u', await until(12), '--output', '-'];
      const signed = await place.run('gpg', args, { input: TEXT });
      expect(signed).toMatchObject({
        code: 0,
        err: expect.stringMatching(/^gpg: sealwright: OpenPGP key \S+ expires on \d{4}-\d\d-\d\d, in 12 days$/m),
      });
      expect(signed.out.length).toBeGreaterThan(50);
    },
  );

  it('is not announced earlier', async () => {
    const signed = await place.run('gpg', ['--sign', '-u', await until(40), '--output', '-'], { input: TEXT });
    expect([signed.code, signed.err]).toEqual([0, '']);
  });
});

describe.skipIf(!has('gpg'))('sealwright gpg refuses', () => {
  it('an unknown key, with exit code 2 and INV_SGNR', async () => {
    const ended = await place.run('gpg', ['--status-fd=1', '-u', 'nobody@example.org', '-b'], { input: 'x' });
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('No secret key') });
    expect(ended.out.toString()).toContain('[GNUPG:] INV_SGNR 9 nobody@example.org');
  });

  it('SHA-1, and a hash shorter than the curve, before anybody is asked', async () => {
    const weak = await place.run('gpg', ['--digest-algo', 'SHA1', '-u', keyOf('rsa-3072').name, '-b'], { input: 'x' });
    const short = await place.run('gpg', ['--digest-algo', 'SHA256', '-u', keyOf('ec-p384').name, '-b'], {
      input: 'x',
    });
    expect([weak.code, short.code, weak.out.length, short.out.length]).toEqual([2, 2, 0, 0]);
  });

  it('a second key, with which gpg would create a second signature', async () => {
    const [one, other] = [keyOf('rsa-3072').name, keyOf('ec-p256').name];
    const ended = await place.run('gpg', ['-u', one, '-u', other, '-b'], { input: 'x' });
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('only one key can sign') });
    expect(ended.out).toHaveLength(0);
    expect((await place.run('gpg', ['-u', one, '-u', keyOf('rsa-3072').fingerprint, '-b'], { input: 'x' })).code).toBe(
      0,
    );
  });

  it('a missing file, with exit code 2, without asking anybody', async () => {
    const ended = await place.run('gpg', ['--status-fd=1', '-u', keyOf('ec-p256').name, '-b', at('nowhere')]);
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('nowhere') });
    expect(ended.out.toString()).toContain('FAILURE sign');
  });

  it('to overwrite an existing file', async () => {
    writeFileSync(at('there.asc'), 'mine');
    writeFileSync(at('there'), 'x');
    const ended = await place.run('gpg', ['-u', keyOf('ec-p256').name, '-ab', at('there')]);
    expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('exists') });
    expect(readFileSync(at('there.asc'), 'utf8')).toBe('mine');
  });

  it('nothing that the real gpg can do, and passes it on', async () => {
    expect((await place.run('gpg', ['--version'])).out.toString()).toMatch(/^gpg \(GnuPG\)/);
  });
});

describe.skipIf(!has('gpg')).each(['rsa-3072', 'ec-p256'])(
  'sealwright gpg with a %s key that requires approval',
  (type) => {
    async function asked(rules: Record<string, unknown> = {}) {
      const { key, approver } = await newGuardedOpenPgpKey(place, type, rules);
      const file = at(`${key.name}.bin`);
      writeFileSync(file, 'to be approved');
      let kill: (signal: NodeJS.Signals) => void = () => undefined;
      const started = (child: { kill(signal: NodeJS.Signals): boolean }) =>
        void (kill = (signal) => child.kill(signal));
      const ending = place.run('gpg', ['--status-fd=1', '-u', key.name, '-b', file], { started });
      const request = await waitingRequest(place, key.name);
      return { key, approver, file, ending, kill: (signal: NodeJS.Signals) => kill(signal), ...request };
    }

    it('waits for approval, and reports who is asked', async () => {
      const { approver, file, ending, approvalId } = await asked();
      const { body } = await place.service.call('GET', `/api/v1/approvals/${approvalId}`, { key: place.apiKey });
      expect(JSON.stringify(body)).toContain('"format":"openpgp"');
      expect((await vote(place.service, approvalId, approver)).status).toBe(200);
      expect(await ending).toMatchObject({ code: 0, err: expect.stringContaining('waiting for 1 of') });
      expect((await place.run(GPG, ['--verify', `${file}.sig`, file])).code).toBe(0);
    });

    it.each([
      ['rejected', 'approval.rejected'],
      ['withdrawn', 'approval.withdrawn'],
      ['expired', 'approval.expired'],
      ['ended by its user', 'approval.withdrawn'],
    ] as const)('%s: exits with 2 and FAILURE, and nothing is signed afterwards', async (how, code) => {
      const { approver, file, ending, approvalId, requestId, kill } = await asked(
        how === 'expired' ? { expiresInSeconds: 60 } : {},
      );
      const path = `/api/v1/approvals/${approvalId}`;
      if (how === 'rejected')
        await vote(place.service, approvalId, approver, { decision: 'reject', body: { comment: 'No.' } });
      if (how === 'withdrawn') await place.service.call('POST', `${path}/withdraw`, { key: place.apiKey, body: {} });
      if (how === 'expired')
        await place.stage.sql(`UPDATE approval SET expires_at = now() WHERE id = $1`, [approvalId]);
      if (how === 'ended by its user') kill('SIGTERM');
      const ended = await ending;
      expect(ended).toMatchObject({ code: 2, err: expect.stringContaining('signing failed') });
      expect(ended.out.toString()).toMatch(/\[GNUPG:\] FAILURE sign \d+\n$/);
      expect(existsSync(`${file}.sig`)).toBe(false);
      const request = await read(place.service, place.apiKey, requestId);
      expect(request.body).toMatchObject({ status: 'FAILED', failure: { code } });
      expect((await vote(place.service, approvalId, approver)).status).toBe(409);
    });
  },
);

describe.skipIf(!has('git') || !has('gpg'))('git', () => {
  it.each(TYPES)('verifies commits and tags signed by %s', async (type) => {
    const directory = at(`git-${type}`);
    mkdirSync(directory);
    const git = (...args: string[]) => place.run('git', args, { cwd: directory });
    await git('init', '-q');
    const settings = { 'user.name': 'A', 'user.email': 'a@b.example', 'user.signingkey': keyOf(type).fingerprint, 'gpg.program': join(place.wrappers, 'gpg') }; // prettier-ignore
    for (const [name, value] of Object.entries(settings)) await git('config', name, value);
    expect(await git('commit', '-q', '--allow-empty', '-S', '-m', 'signed')).toMatchObject({ code: 0 });
    expect(await git('tag', '-s', 'v1', '-m', 'signed')).toMatchObject({ code: 0 });
    expect(await git('verify-commit', 'HEAD')).toMatchObject({
      code: 0,
      err: expect.stringContaining('Good signature'),
    });
    expect(await git('verify-tag', 'v1')).toMatchObject({ code: 0, err: expect.stringContaining('Good signature') });
  });
});
