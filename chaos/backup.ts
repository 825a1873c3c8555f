import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newApiKey } from '../test/support/access.js';
import { createKey, digestOf, sign } from '../test/support/signing.js';
import { sealwright } from '../test/client/program.js';
import { installedPrograms, startInstalled } from './backup/installed-postgres.js';
import { Installation, Load, SECRET } from './backup/installation.js';
import { Findings } from './support/findings.js';

/**
 * npm run proof -- backup
 * Runs the drill in docs/restore.md on an installed PostgreSQL with its own pg_dump and pg_restore: backups under load, interrupted backups, the loss of both
 * stores, restores into empty stores that are killed repeatedly, restore mode, acceptance, verification, and a base backup.
 */
const findings = new Findings();
const { say, conclude } = findings;
/** Records a check. `output` is shown only if the check fails. */
function check(what: string, holds: boolean, output = ''): void {
  findings.check(what, holds, holds ? '' : output.slice(0, 1500));
}

const bin = installedPrograms();
if (bin === undefined) throw new Error("PostgreSQL's server and programs are needed: apt-get install postgresql");
const place = mkdtempSync(join(tmpdir(), 'sealwright-backups-'));
chmodSync(place, 0o711);
const at = (name: string) => join(place, name);
const out = at('backups');
const backups = () => readdirSync(out, { withFileTypes: true }).map(({ name }) => name);
const whole = () => backups().filter((name) => !name.endsWith('.partial'));
const inst = await Installation.make(place, bin);
const relations = async () => {
  const [row] = await inst.postgres.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'`,
    'sealwright',
  );
  return row?.count ?? -1;
};
const get = async (path: string, key = inst.apiKey) => {
  const answer = await fetch(`${inst.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const within = async (what: string, seconds: number, look: () => Promise<boolean>) => {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(300))
    if (await look().catch(() => false)) return check(what, true);
  check(what, false, `not within ${seconds} s`);
};
interface Made {
  readonly directory: string;
  readonly log: { readonly size: number; readonly origin: string };
}

/** Duration of a backup in milliseconds, from the start of the program. */
let took = 0;
/** Fractions of `took` after which backups and restores are killed. */
const PARTS = [0.3, 0.45, 0.6, 0.75, 0.9, 1];

async function underLoad(): Promise<{ first: Made; revoked: { id: string; key: string } }> {
  const service = await inst.start();
  const revoked = await newApiKey(service, inst.apiKey, ['sign:digest', 'sign:read']);
  const load = new Load(service, inst.apiKey);
  await sleep(3000);
  // Uses a permissive umask, which a cron job may have.
  const began = performance.now();
  const {
    code,
    out: text,
    err,
  } = await inst.admin(['backup', '--out', out, '--witness', at('witness.jsonl'), '--json'], { shell: 'umask 000;' });
  took = Math.round(performance.now() - began);
  check('a backup under load is made', code === 0, err);
  const first = JSON.parse(text) as Made;
  const [sizes] = await inst.postgres.sql<{ bytes: string }>(`SELECT pg_database_size('sealwright') AS bytes`);
  const dump = statSync(join(first.directory, 'database.dump')).size;
  say(`       ${took} ms; database ${sizes?.bytes} bytes, dump ${dump}; ${first.log.size} leaves`);
  await verified(first);
  await interrupted();
  await load.stop();
  check(
    `${load.signed} signatures meanwhile, none refused`,
    load.refused.length === 0 && load.signed > 50,
    load.refused.join(),
  );
  return { first, revoked };
}

async function verified({ directory }: Made): Promise<void> {
  const { code, out: text } = await inst.admin(['backup', 'verify', directory, '--witness', at('witness.jsonl')]);
  check('it verifies, its dump is read, and the witness knows it', code === 0 && !text.includes('was not read'), text);
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const open = entries.filter((entry) => (statSync(join(entry.parentPath, entry.name)).mode & 0o077) !== 0);
  check(
    'nobody else can read any of it',
    open.length === 0 && (statSync(directory).mode & 0o077) === 0,
    open.map(({ name }) => name).join(),
  );
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)));
  const dumped = execFileSync(join(inst.postgres.bin, 'pg_restore'), ['--file=-', join(directory, 'database.dump')], {
    maxBuffer: 1 << 30,
  });
  const secrets = [
    SECRET,
    inst.apiKey,
    new URL(inst.postgres.url('x')).password,
    readFileSync(inst.token.pinFile, 'utf8').trim(),
  ];
  // The PIN has six digits, which can occur in any longer number. In the dump, only a value that is equal to the PIN counts as a leak.
  const inFiles = secrets.filter((secret) => files.some((content) => content.includes(secret)));
  const inDump = secrets.slice(0, 3).filter((secret) => dumped.includes(secret));
  check(
    'no secret is in it, and none in the dump once it is unpacked',
    inFiles.length + inDump.length === 0,
    [...inFiles, ...inDump].join(),
  );
}

/** Interrupts backups. An interrupted backup must not leave anything that looks complete. */
async function interrupted(): Promise<void> {
  const before = whole();
  for (const [index, part] of PARTS.entries()) {
    const signal = index % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
    await inst.admin(['backup', '--out', out], { after: { ms: took * part, signal } });
  }
  const finished = whole().filter((name) => !before.includes(name));
  const faults: string[] = [];
  for (const name of finished)
    if ((await inst.admin(['backup', 'verify', join(out, name)])).code !== 0) faults.push(name);
  const left = backups().filter((name) => name.endsWith('.partial'));
  check(
    `${PARTS.length} backups that were killed: ${finished.length} were finished and verify, ${left.length} are left as .partial`,
    faults.length === 0,
    faults.join(),
  );
  const verdicts = await Promise.all(left.map((name) => inst.admin(['backup', 'verify', join(out, name)])));
  check(
    'what is left is refused',
    verdicts.every(({ code }) => code === 1),
  );
  for (const name of left) rmSync(join(out, name), { recursive: true, maxRetries: 5 });

  const count = backups().length;
  const cutting = inst.admin(['backup', '--out', out]);
  let cut = 0;
  const over = new AbortController();
  void cutting.finally(() => over.abort());
  for (; cut === 0 && !over.signal.aborted; await sleep(10)) {
    const rows = await inst.postgres.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sealwright-admin pg_dump'`,
    );
    cut = rows.length;
  }
  const { code, err } = await cutting;
  check(
    'a dump whose connection is cut fails the command and leaves nothing',
    cut > 0 && code === 1 && err.includes('pg_dump failed') && backups().length === count,
    `${cut} ${code} ${err}`,
  );
  const full = await inst.admin(['backup', '--out', out], { shell: 'ulimit -f 64;' });
  check(
    'a dump that may not be written to its end fails the command and leaves nothing',
    full.code === 1 && backups().length === count,
    full.err,
  );
  await withoutRoom();
  const inside = await inst.admin(['backup', '--out', join(inst.token.tokens, 'backups')]);
  check('a backup into the directory of the token is refused', inside.code === 2, inside.err);
}

async function withoutRoom(): Promise<void> {
  const small = at('small');
  try {
    execFileSync('mkdir', ['-p', small]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small], { stdio: 'pipe' });
  } catch {
    say('       (no small disk could be mounted here: not tried)');
    return;
  }
  const { code, err } = await inst.admin(['backup', '--out', small]);
  check(
    'a disk without room is refused before anything is written',
    code === 1 && err.includes('Not enough space') && readdirSync(small).length === 0,
    err,
  );
  execFileSync('umount', [small]);
}

/** Makes changes after the backup, and stores the state that auditors have kept. */
async function later(revoked: string): Promise<void> {
  const service = inst.service;
  if (service === undefined) throw new Error('it runs');
  await createKey(service, inst.apiKey, { name: 'after-backup', type: 'ec-p256' });
  await service.call('DELETE', `/api/settings/api-keys/${revoked}`, { key: inst.apiKey });
  await sign(service, { key: inst.apiKey, body: { digest: digestOf('later'), algorithm: 'sha256' } });
  await inst.settled();
  const env = { SEALWRIGHT_URL: inst.url, SEALWRIGHT_TOKEN: inst.apiKey };
  writeFileSync(at('log.pem'), (await sealwright(['log', 'key'], { env })).out);
  check('an auditor verifies the log', (await inst.audited(at('log.pem'), at('auditor.state'))).code === 0);
  const newer = await fetch(`${inst.url}/api/v1/audit/log/export`, {
    headers: { authorization: `Bearer ${inst.apiKey}` },
  });
  writeFileSync(at('newer.jsonl'), Buffer.from(await newer.arrayBuffer()));
  // Only the witness file of the last backup remains.
  const { directory } = JSON.parse(
    await inst.must(['backup', '--out', out, '--witness', at('witness.jsonl'), '--json']),
  ) as Made;
  rmSync(directory, { recursive: true });
  await service.kill('SIGTERM');
}

async function loseEverything(): Promise<void> {
  await inst.postgres.sql('ALTER DATABASE sealwright RENAME TO lost');
  await inst.postgres.sql('CREATE DATABASE sealwright');
  renameSync(inst.token.tokens, `${inst.token.tokens}.lost`);
}

async function restored({ directory }: Made): Promise<void> {
  await refusals(directory);
  let killed = 0;
  for (const [index, part] of PARTS.entries()) {
    const ms = Math.round(took * part);
    const { code } = await inst.admin(['restore', 'run', directory], {
      after: { ms, signal: index % 2 === 0 ? 'SIGKILL' : 'SIGTERM' },
    });
    await sleep(500);
    if (code === 0) break;
    killed += 1;
    const left = await relations();
    if (left !== 0)
      check(`a restore that is killed after ${ms} ms leaves the database empty`, false, `${left} relations`);
  }
  check(`${killed} restores were killed: the database was as empty as before each time`, killed > 0);
  if ((await relations()) === 0)
    check('run again, it restores', (await inst.admin(['restore', 'run', directory])).code === 0);
  const again = await inst.admin(['restore', 'run', directory]);
  check('a database that is not empty is refused', again.code === 1 && again.err.includes('is not empty'), again.err);
}

/** Restores backups that must be refused, and checks the database afterwards. */
async function refusals(directory: string): Promise<void> {
  const copy = at('copy');
  const cases: [
    string,
    (manifest: { schema: { migrations: string[] }; database: { server: string } }) => void,
    string,
  ][] = [
    [
      'of a later version',
      (manifest) => manifest.schema.migrations.push('Later9999999999999'),
      'this version does not have',
    ],
    ['of a later PostgreSQL', (manifest) => (manifest.database.server = '99.1'), 'downgrading is not possible'],
  ];
  for (const [what, change, words] of cases) {
    execFileSync('cp', ['-a', directory, copy]);
    const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as Parameters<typeof change>[0];
    change(manifest);
    writeFileSync(join(copy, 'manifest.json'), JSON.stringify(manifest));
    const { code, err } = await inst.admin(['restore', 'run', copy]);
    check(`a backup ${what} is refused`, code === 1 && err.includes(words), err);
    rmSync(copy, { recursive: true });
  }
  execFileSync('cp', ['-a', directory, copy]);
  const dump = readFileSync(join(copy, 'database.dump'));
  dump[Math.floor(dump.length / 2)] = (dump[Math.floor(dump.length / 2)] ?? 0) ^ 1;
  writeFileSync(join(copy, 'database.dump'), dump);
  const { code, err } = await inst.admin(['restore', 'run', copy]);
  check('a backup with one bit changed is refused', code === 1 && err.includes('was changed'), err);
  // The database counts as empty, because a type is not a table, but a statement in the middle of the restore fails.
  await inst.postgres.sql('CREATE TYPE signing_request AS ENUM ()', 'sealwright');
  const failing = await inst.admin(['restore', 'run', directory]);
  check(
    'a statement that fails in the middle fails the restore, in the words of the server',
    failing.code === 1 && failing.err.includes('already exists'),
    failing.err,
  );
  await inst.postgres.sql('DROP TYPE signing_request', 'sealwright');
  const missing = await inst.admin(['restore', 'run', at('nowhere')]);
  check(
    'a backup that is not there is refused',
    missing.code === 1 && missing.err.includes('is not a backup'),
    missing.err,
  );
  check('and the database is still empty', (await relations()) === 0);
}

async function held(revoked: string): Promise<void> {
  const starting = inst.start();
  await within('every call is answered 503 in restore mode', 60, async () => {
    const { status, body } = await get('/api/v1/signing-keys', revoked);
    return status === 503 && ['log.restored', 'log.rolled-back'].includes(String(body['code']));
  });
  const { out: status } = await inst.admin(['restore', 'status', '--log', at('newer.jsonl')]);
  check('status says what was lost', status.includes('Lost according to the newer log: 1 × api-key.revoked'), status);
  const [, leaves = ''] = /--leaves (\d+)/.exec(status) ?? [];
  const wrong = await inst.admin(['restore', 'accept', '--leaves', '1']);
  check('another number of leaves accepts nothing', wrong.code === 1, wrong.out);
  const accept = [
    'restore',
    'accept',
    '--leaves',
    leaves,
    '--log',
    at('newer.jsonl'),
    '--witness',
    at('witness.jsonl'),
  ];
  const accepted = await inst.admin(accept);
  check(
    'it is accepted',
    accepted.code === 0 && accepted.out.includes('The newest checkpoint of the witness covers'),
    accepted.out + accepted.err,
  );
  await starting;
  await inst.settled();
  const old = await inst.audited(at('log.pem'), at('auditor.state'));
  check(
    'the auditor of before verifies, and is told what was lost',
    old.code === 0 && old.out.includes('are lost'),
    old.out,
  );
  check('a new auditor verifies', (await inst.audited(at('log.pem'))).code === 0);
  check('what was revoked since is revoked', (await get('/api/v1/signing-keys', revoked)).status === 401);
  const service = inst.service;
  const signed =
    service && (await sign(service, { key: inst.apiKey, body: { digest: digestOf('again'), algorithm: 'sha256' } }));
  check('it signs by the keys of the restored token', signed?.status === 200, JSON.stringify(signed?.body));
}

async function base(): Promise<void> {
  const { directory } = JSON.parse(await inst.must(['backup', '--out', out, '--base', '--json'])) as Made;
  check('a base backup verifies', (await inst.admin(['backup', 'verify', directory])).code === 0);
  const refused = await inst.admin(['restore', 'run', directory], {
    settings: { SVC_DATABASE_URL: inst.postgres.url('template1') },
  });
  check('restore run names the way for it', refused.code === 1 && refused.err.includes('restore hold'), refused.err);
  const data = at('restored');
  execFileSync('mkdir', ['-m', '700', data]);
  execFileSync('tar', ['-xf', join(directory, 'database/base.tar'), '-C', data]);
  execFileSync('tar', ['-xf', join(directory, 'database/pg_wal.tar'), '-C', join(data, 'pg_wal')]);
  const server = await startInstalled(inst.postgres.bin, data);
  try {
    const settings = { SVC_DATABASE_URL: server.url('sealwright') };
    const counts = `SELECT (SELECT count(*) FROM signing_request) AS requests, (SELECT count(*) FROM audit_entry) AS entries`;
    const rows = await server.sql<{ requests: string; entries: string }>(counts, 'sealwright');
    check('what it holds starts as a server', Number(rows[0]?.requests) > 50, JSON.stringify(rows));
    await inst.must(['restore', 'hold', '--backup', 'base', '--made-at', new Date().toISOString()], { settings });
    const { out: said } = await inst.admin(['restore', 'status'], { settings });
    check('it is held by restore hold', /log\.(?:restored|rolled-back)/.test(said), said);
  } finally {
    await server.stop();
  }
}

try {
  const { first, revoked } = await underLoad();
  await later(revoked.id);
  await loseEverything();
  await restored(first);
  await held(revoked.key);
  await base();
} finally {
  await inst.close();
  rmSync(place, { recursive: true, force: true });
}
conclude('all backups kept their promises');
