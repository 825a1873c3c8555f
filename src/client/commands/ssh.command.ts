import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { readCertificateLine } from '../../formats/ssh/certificate-reader.js';
import { ApiClient } from '../api/api-client.js';
import { secondsOf } from '../api/request-polling.js';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import {
  type HostCertificate,
  certificateFile,
  certificateOf,
  certifiedHostKeys,
  keepCertificate,
  publicKeyOf,
  renewed,
} from '../ssh/host-certificates.js';
import { awaitCertificate, isCertified, orderHostCertificate, renewalHint } from '../ssh/host-certificate-order.js';
import { applyHostSetup, hostKeysOf, type HostSetup, isSetUp, planHostSetup, reloadSshd } from '../ssh/host-setup.js';

const HOST_KEY = '/etc/ssh/ssh_host_ed25519_key';
const SSHD_CONFIG = '/etc/ssh/sshd_config';
/** Default path of sshd. The path must be absolute, because sshd re-executes itself. */
const SSHD = '/usr/sbin/sshd';

/** Content of the file after the last user authority has been retired. The host then trusts no authority, but sshd requires the file. */
const NO_AUTHORITY = Buffer.from('# The service has no SSH authority for users.\n');
const SETUP = ['dry-run', 'no-reload', 'config', 'sshd'];

export const ssh: ClientCommand = {
  name: 'ssh',
  usage:
    'login [--host] [--key FILE] [--rule NAME] [--wait SECONDS] | renew [--now] [KEY...] | setup-host [--dry-run] [--no-reload] [--config FILE] [--host-certificate [--authority NAME [--names NAME,...] | --rule NAME] [--key FILE] [--wait SECONDS]] [ACCOUNT=PRINCIPAL,...]',
  meaning:
    'login: requests a short-lived SSH certificate for your key (~/.ssh/id_ed25519), or with --host for the host key of this machine, and writes it next to the key; renew: renews the certificates of this host (/etc/ssh) that are due, using its own keys; setup-host: configures sshd on this host to trust user certificates of the service and reject revoked ones, and with --host-certificate to present a certificate itself (as root)',
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
    'host-certificate': { type: 'boolean' },
    authority: { type: 'string' },
    names: { type: 'string' },
  },
  forms: {
    login: { uses: ['key', 'rule', 'wait', 'host'], when: 'on ssh login' },
    renew: { uses: ['now'], when: 'on ssh renew' },
    'setup-host': { uses: SETUP, when: 'on ssh setup-host without --host-certificate' },
    'host-certificate': {
      uses: [...SETUP, 'host-certificate', 'authority', 'names', 'rule', 'key', 'wait'],
      when: 'on ssh setup-host --host-certificate',
    },
  },
  formOf(options, [action]) {
    if (action === 'renew' || action === 'login') return action;
    if (action !== 'setup-host') return undefined;
    return options['host-certificate'] === true ? 'host-certificate' : 'setup-host';
  },
  async run(invocation) {
    const [action, ...keys] = invocation.positionals;
    if (action === 'login' && keys.length === 0) return login(invocation);
    if (action === 'renew') return renew(invocation, keys);
    if (action === 'setup-host') return setupHost(invocation, keys);
    throw usageError('Specify one of: login, renew, setup-host.');
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
  const asked = (await client.call('POST', '/v1/ssh-login', { body, headers, repeatable: true })) as HostCertificate;
  const seconds = secondsOf(text(options, 'wait'));
  const found = await awaitCertificate(client, `/v1/ssh-login/${asked.id}`, asked, seconds);
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

/** Prints a note if the certificate does not permit a terminal. ssh reports only "PTY allocation request failed", but not the reason. */
function noteTerminal({ certificate }: HostCertificate, note: Invocation['note']): void {
  const content = readCertificateLine(certificate);
  if (content === undefined || content.extensions.includes('permit-pty')) return;
  note(
    'This certificate does not allow a terminal: ssh can run commands (ssh HOST COMMAND), but no interactive shell.',
  );
  note('To allow a terminal, add permit-pty to the extensions of the login rule.');
}

/** Sets up a host. Only files that differ are written, so the command can be repeated. */
async function setupHost(invocation: Invocation, named: readonly string[]): Promise<ExitCode> {
  const { options, environment, print, note } = invocation;
  const principals = principalsIn(named);
  const [config, sshd] = [text(options, 'config') ?? SSHD_CONFIG, text(options, 'sshd') ?? SSHD];
  const client = await ApiClient.withoutCredential(environment, text(options, 'url'));
  const fetched = async (path: string) => buffer((await client.stream(path)) as AsyncIterable<Buffer>);
  const fetchedKeys = await fetched('/v1/ssh-ca/trusted-user-ca-keys');
  if (fetchedKeys.length === 0 && !(await isSetUp(config)))
    throw new ClientError(
      EXIT.failed,
      'The service has no SSH authority for users. Create one first (POST /v1/ssh-ca).',
    );
  const authorities = fetchedKeys.length === 0 ? NO_AUTHORITY : fetchedKeys;
  const revocations = await fetched('/v1/ssh-ca/revoked-user-keys');
  const hostCertificate = await newHostCertificate(invocation, sshd, config);
  if (hostCertificate === 'pending') return EXIT.pending;
  const setup: HostSetup = { config, sshd, authorities, revocations, principals, hostCertificate };
  const files = await planHostSetup(setup);
  const isTrial = options['dry-run'] === true;
  const reload = options['no-reload'] === true ? async () => undefined : () => reloadSshd(setup);
  if (files.length > 0 && !isTrial) await applyHostSetup(setup, files, reload);
  if (files.length === 0) note('The host is already set up. Nothing was changed.');
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

/**
 * Returns the certificate for --host-certificate: the existing certificate if it is valid, otherwise a newly requested certificate. Returns undefined without
 * the option. A dry run requests no certificate.
 */
async function newHostCertificate(
  { options, api, note }: Invocation,
  sshd: string,
  config: string,
): Promise<HostSetup['hostCertificate'] | 'pending'> {
  if (options['host-certificate'] !== true) return undefined;
  const [first] = await hostKeysOf(sshd, config);
  const key = text(options, 'key')?.replace(/(?:-cert)?\.pub$/, '') ?? first;
  if (key === undefined) throw new ClientError(EXIT.failed, `${config} contains no host key. Specify one with --key.`);
  const path = certificateFile(key);
  const order = {
    key,
    authority: text(options, 'authority'),
    names: text(options, 'names')?.split(',').filter(Boolean) ?? [],
    rule: text(options, 'rule'),
    seconds: secondsOf(text(options, 'wait')),
  };
  if (await isCertified(key)) return { path, content: Buffer.from(`${(await certificateOf(key)).line}\n`) };
  if (options['dry-run'] === true) return { path, content: Buffer.alloc(0) };
  const found = await orderHostCertificate(await api(), order);
  if (!isIssued(found)) {
    note(
      `Host certificate ${found.id} is not issued yet (${found.status}). Nothing was changed. Run the command again with --wait.`,
    );
    return 'pending';
  }
  note(renewalHint(found, key));
  return { path, content: Buffer.from(`${found.certificate}\n`) };
}

/** Reads `ACCOUNT=PRINCIPAL,PRINCIPAL` arguments. */
function principalsIn(words: readonly string[]): Map<string, readonly string[]> {
  return new Map(
    words.map((word) => {
      const [, account, names] = /^([A-Za-z0-9_][A-Za-z0-9_.-]{0,31}\$?)=([^\s,#"]+(?:,[^\s,#"]+)*)$/.exec(word) ?? [];
      if (account === undefined || names === undefined)
        throw usageError(`"${word}" must have the form ACCOUNT=PRINCIPAL,PRINCIPAL, for example deploy=web-team,ops.`);
      return [account, names.split(',')];
    }),
  );
}

/** Renews host certificates. Certificates that are not due are skipped, so the command can be repeated. */
async function renew(
  { options, environment, url, print, note }: Invocation,
  named: readonly string[],
): Promise<ExitCode> {
  const keys = named.length > 0 ? named.map((key) => key.replace(/(?:-cert)?\.pub$/, '')) : await certifiedHostKeys();
  if (keys.length === 0) throw new ClientError(EXIT.failed, 'No key of this host has a certificate.');
  const client = await ApiClient.withoutCredential(environment, url);
  const kept: (HostCertificate & { readonly file: string })[] = [];
  let waits = false;
  for (const key of keys) {
    const { due } = await certificateOf(key);
    if (options['now'] !== true && due > new Date()) {
      note(`${key}-cert.pub is not due for renewal before ${due.toISOString()}.`);
      continue;
    }
    const found = await renewed(client, key);
    if (isIssued(found)) kept.push({ ...found, file: await keepCertificate(key, found) });
    else {
      note(`${key}: not certified yet (${found.status}). Run the command again.`);
      waits = true;
    }
  }
  print(
    kept,
    kept.map((one) => lineOf(one.file, one)),
  );
  return waits ? EXIT.pending : EXIT.done;
}

/**
 * Reports whether the certificate is issued.
 *
 * @throws ClientError if the certificate will never be issued
 */
function isIssued({ status, failure }: HostCertificate): boolean {
  if (status === 'FAILED') throw new ClientError(EXIT.failed, failure?.detail ?? 'The certificate was not issued.');
  return status === 'ISSUED';
}

function lineOf(file: string, { principals, validBefore }: HostCertificate): string {
  return `${file} for ${principals.join(', ')} until ${validBefore}`;
}
