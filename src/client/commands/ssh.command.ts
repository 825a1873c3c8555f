import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCertificateLine } from '../../formats/ssh/certificate-reader.js';
import { ApiClient } from '../api/api-client.js';
import { secondsOf } from '../api/awaiting.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import {
  type HostCertificate,
  certificateOf,
  certifiedHostKeys,
  keepCertificate,
  publicKeyOf,
  renewed,
} from '../ssh/host-certificates.js';
import { applyHostSetup, type HostSetup, planHostSetup, reloadSshd } from '../ssh/host-setup.js';

const PAUSE_MS = 2000;
const HOST_KEY = '/etc/ssh/ssh_host_ed25519_key';
const SSHD_CONFIG = '/etc/ssh/sshd_config';
/** sshd re-executes itself, so it wants an absolute path. */
const SSHD = '/usr/sbin/sshd';

export const ssh: ClientCommand = {
  name: 'ssh',
  usage:
    'login [--host] [--key FILE] [--rule NAME] [--wait SECONDS] | renew [--now] [KEY...] | setup-host [--dry-run] [--no-reload] [--config FILE] [ACCOUNT=PRINCIPAL,...]',
  meaning:
    'login: gets a short-lived SSH certificate for your key (~/.ssh/id_ed25519), or with --host for that of this machine, and writes it beside it; renew: renews the certificates of this host (/etc/ssh) that are due, by its keys alone; setup-host: makes the sshd of this host trust the user certificates of the service and refuse revoked ones (as root)',
  options: {
    key: { type: 'string' },
    rule: { type: 'string' },
    wait: { type: 'string' },
    host: { type: 'boolean' },
    now: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    'no-reload': { type: 'boolean' },
    config: { type: 'string' },
    sshd: { type: 'string' },
  },
  forms: {
    login: { uses: ['key', 'rule', 'wait', 'host'], when: 'on ssh login' },
    renew: { uses: ['now'], when: 'on ssh renew' },
  },
  formOf: (_options, [action]) => (action === 'renew' || action === 'login' ? action : undefined),
  async run(invocation) {
    const [action, ...keys] = invocation.positionals;
    if (action === 'login' && keys.length === 0) return login(invocation);
    if (action === 'renew') return renew(invocation, keys);
    if (action === 'setup-host') return setupHost(invocation, keys);
    throw usageError('ssh takes: login, renew, or setup-host.');
  },
};

async function login({ options, api, print, note }: Invocation): Promise<ExitCode> {
  const kind = options['host'] === true ? 'host' : 'user';
  const usual = kind === 'host' ? HOST_KEY : join(homedir(), '.ssh', 'id_ed25519');
  const key = (text(options, 'key') ?? usual).replace(/\.pub$/, '');
  const publicKey = await publicKeyOf(key);
  const client = await api();
  const rule = text(options, 'rule');
  const body = { publicKey, kind, ...(rule === undefined ? {} : { rule }) };
  const headers = { 'idempotency-key': randomUUID() };
  let found = (await client.call('POST', '/v1/ssh-login', { body, headers, repeatable: true })) as HostCertificate;
  const until = performance.now() + secondsOf(text(options, 'wait')) * 1000;
  while (found.status !== 'ISSUED' && found.status !== 'FAILED' && performance.now() < until) {
    await sleep(PAUSE_MS);
    found = (await client.call('GET', `/v1/ssh-login/${found.id}`)) as HostCertificate;
  }
  if (!isIssued(found)) {
    note(`Not certified yet (${found.status}).`);
    print(found, [found.id]);
    return EXIT.pending;
  }
  const file = await keepCertificate(key, found);
  if (kind === 'user') noteTerminal(found, note);
  print({ ...found, file }, [lineOf(file, found)]);
  return EXIT.done;
}

/** ssh answers "PTY allocation request failed" to a certificate without this extension, which does not say why. */
function noteTerminal({ certificate }: HostCertificate, note: Invocation['note']): void {
  const content = readCertificateLine(certificate);
  if (content === undefined || content.extensions.includes('permit-pty')) return;
  note('This certificate gives no terminal: ssh runs commands (ssh HOST COMMAND) and no interactive shell.');
  note('For a terminal, add permit-pty to the extensions of the login rule.');
}

/** Writes only what differs, so that it can be called as often as one likes. */
async function setupHost(
  { options, environment, print, note }: Invocation,
  named: readonly string[],
): Promise<ExitCode> {
  const principals = principalsIn(named);
  const client = await ApiClient.withoutCredential(environment, text(options, 'url'));
  const fetched = async (path: string) => buffer((await client.stream(path)) as AsyncIterable<Buffer>);
  const setup: HostSetup = {
    config: text(options, 'config') ?? SSHD_CONFIG,
    sshd: text(options, 'sshd') ?? SSHD,
    authorities: await fetched('/v1/ssh-ca/trusted-user-ca-keys'),
    revocations: await fetched('/v1/ssh-ca/revoked-user-keys'),
    principals,
  };
  if (setup.authorities.length === 0)
    throw new ClientError(
      EXIT.failed,
      'The service has no SSH authority for users. Create one first (POST /v1/ssh-ca).',
    );
  const files = await planHostSetup(setup);
  const isTrial = options['dry-run'] === true;
  const reload = options['no-reload'] === true ? async () => undefined : () => reloadSshd(setup);
  if (files.length > 0 && !isTrial) await applyHostSetup(setup, files, reload);
  if (files.length === 0) note('The host is set up already; nothing was changed.');
  const planned = files.map(({ path, before, after }) => ({
    path,
    change: after === undefined ? 'removed' : before === undefined ? 'added' : 'changed',
  }));
  print(
    { dryRun: isTrial, files: planned },
    planned.map(({ path, change }) => `${path} ${isTrial ? 'would be ' : ''}${change}`),
  );
  return EXIT.done;
}

/** Reads `ACCOUNT=PRINCIPAL,PRINCIPAL` arguments. */
function principalsIn(words: readonly string[]): Map<string, readonly string[]> {
  return new Map(
    words.map((word) => {
      const [, account, names] = /^([A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?)=([^\s,#"]+(?:,[^\s,#"]+)*)$/.exec(word) ?? [];
      if (account === undefined || names === undefined)
        throw usageError(`"${word}" is not ACCOUNT=PRINCIPAL,PRINCIPAL, such as deploy=web-team,ops.`);
      return [account, names.split(',')];
    }),
  );
}

/** What is not due is left alone, so that it can be called as often as one likes. */
async function renew(
  { options, environment, url, print, note }: Invocation,
  named: readonly string[],
): Promise<ExitCode> {
  const keys = named.length > 0 ? named.map((key) => key.replace(/(?:-cert)?\.pub$/, '')) : await certifiedHostKeys();
  if (keys.length === 0) throw new ClientError(EXIT.failed, 'No key of this host has a certificate beside it.');
  const client = await ApiClient.withoutCredential(environment, url);
  const kept: (HostCertificate & { readonly file: string })[] = [];
  let waits = false;
  for (const key of keys) {
    const { due } = await certificateOf(key);
    if (options['now'] !== true && due > new Date()) {
      note(`${key}-cert.pub is not due before ${due.toISOString()}.`);
      continue;
    }
    const found = await renewed(client, key);
    if (isIssued(found)) kept.push({ ...found, file: await keepCertificate(key, found) });
    else {
      note(`${key}: not certified yet (${found.status}); run this again.`);
      waits = true;
    }
  }
  print(
    kept,
    kept.map((one) => lineOf(one.file, one)),
  );
  return waits ? EXIT.pending : EXIT.done;
}

/** ClientError when it never will be. */
function isIssued({ status, failure }: HostCertificate): boolean {
  if (status === 'FAILED') throw new ClientError(EXIT.failed, failure?.detail ?? 'It was not certified.');
  return status === 'ISSUED';
}

function lineOf(file: string, { principals, validBefore }: HostCertificate): string {
  return `${file} for ${principals.join(', ')} until ${validBefore}`;
}
