import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

const PAUSE_MS = 2000;
const HOST_KEY = '/etc/ssh/ssh_host_ed25519_key';

export const ssh: ClientCommand = {
  name: 'ssh',
  usage: 'login [--host] [--key FILE] [--rule NAME] [--wait SECONDS] | renew [--now] [KEY...]',
  meaning:
    'login: gets a short-lived SSH certificate for your key (~/.ssh/id_ed25519), or with --host for that of this machine, and writes it beside it; renew: renews the certificates of this host (/etc/ssh) that are due, by its keys alone',
  options: {
    key: { type: 'string' },
    rule: { type: 'string' },
    wait: { type: 'string' },
    host: { type: 'boolean' },
    now: { type: 'boolean' },
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
    throw usageError('ssh takes: login, or renew.');
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
  print({ ...found, file }, [lineOf(file, found)]);
  return EXIT.done;
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
