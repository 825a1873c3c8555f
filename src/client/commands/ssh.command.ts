import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { secondsOf } from '../api/awaiting.js';
import { type ClientCommand, text } from '../api/command.js';
import { ClientError, EXIT, usageError } from '../api/exit-codes.js';

const PAUSE_MS = 2000;

interface Certificate {
  readonly id: string;
  readonly status: string;
  readonly certificate: string;
  readonly principals: readonly string[];
  readonly validBefore: string;
  readonly failure?: { readonly code: string; readonly detail: string };
}

export const ssh: ClientCommand = {
  name: 'ssh',
  usage: 'login [--key FILE] [--rule NAME] [--wait SECONDS]',
  meaning:
    'gets a short-lived SSH certificate for your key (~/.ssh/id_ed25519) and writes it beside it, where ssh finds it',
  options: { key: { type: 'string' }, rule: { type: 'string' }, wait: { type: 'string' } },
  async run({ options, positionals, api, print, note }) {
    if (positionals.length !== 1 || positionals[0] !== 'login') throw usageError('ssh takes: login.');
    const file = (text(options, 'key') ?? join(homedir(), '.ssh', 'id_ed25519')).replace(/\.pub$/, '');
    const publicKey = await readKey(`${file}.pub`);
    const client = await api();
    const rule = text(options, 'rule');
    const body = { publicKey, ...(rule === undefined ? {} : { rule }) };
    const headers = { 'idempotency-key': randomUUID() };
    let found = (await client.call('POST', '/v1/ssh-login', { body, headers, repeatable: true })) as Certificate;
    const until = performance.now() + secondsOf(text(options, 'wait')) * 1000;
    while (found.status !== 'ISSUED' && found.status !== 'FAILED' && performance.now() < until) {
      await sleep(PAUSE_MS);
      found = (await client.call('GET', `/v1/ssh-login/${found.id}`)) as Certificate;
    }
    if (found.status === 'FAILED') throw new ClientError(EXIT.failed, found.failure?.detail ?? 'It was not certified.');
    if (found.status !== 'ISSUED') {
      note(`Not certified yet (${found.status}).`);
      print(found, [found.id]);
      return EXIT.pending;
    }
    await writeFile(`${file}-cert.pub`, `${found.certificate}\n`, { mode: 0o644 });
    const { principals, validBefore } = found;
    print({ ...found, file: `${file}-cert.pub` }, [
      `${file}-cert.pub for ${principals.join(', ')} until ${validBefore}`,
    ]);
    return EXIT.done;
  },
};

async function readKey(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new ClientError(EXIT.failed, `${file} cannot be read: ${(error as Error).message}`);
  }
}
