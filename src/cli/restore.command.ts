import type { INestApplicationContext } from '@nestjs/common';
import { parseArgs } from 'node:util';
import { LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { LogKeys } from '../audit/log/log-keys.js';
import { LogRestore } from '../audit/log/log-restore.js';
import { type HeldKey, KeyVault } from '../hsm/key-vault.js';
import { Config } from '../platform/config/config.js';
import { newestWitnessed, readWitness } from './backup/witness-file.js';
import { type AdminCommand, AdminError, ADMIN_EXIT, interruption, note, print } from './command.js';
import { inService } from './in-service.js';
import { NOTHING_KNOWN, readNewerLog, type RevokedSince } from './restore/newer-log.js';
import { restoreBackup } from './restore/restore-backup.js';
import { type RecordedKey, RestoredState } from './restore/restored-state.repository.js';

const MAX_KEYS_SHOWN = 20;
const STATE = new RestoredState();

/** restore restores a backup, reports what the restored database lacks, and accepts the database. */
export const restore: AdminCommand = {
  name: 'restore',
  usage: [
    'run DIRECTORY [--postgres-bin DIRECTORY] [--json]',
    'status [--log FILE]',
    'accept --leaves N [--log FILE] [--witness FILE]',
    'hold --backup NAME --made-at TIME',
  ],
  summary: 'Restores a backup, reports what a restored database lacks, and accepts it',
  details: [
    'Stop all processes first, and keep the current stores even if they are damaged. See docs/restore.md for the steps.',
    '',
    '  run      verifies the backup and restores it into an empty database, and restores its token if none exists.',
    '           The service stays held until the backup is accepted. If the command is interrupted, run it again.',
    '  status   reports why the service is held and what is known to be lost; changes nothing.',
    '  accept   accepts the database with this number of leaves (printed by status): sessions end, serial numbers of SSH',
    '           authorities advance, running SSH rotations halt, and the audit log continues under a new name.',
    '  hold     marks a database that was restored by other means (a base backup, pgBackRest) as held.',
    '           Required if the token was restored as well, because only a newer token can detect the restore.',
    '',
    '  --log FILE       a newer export of the audit log: rights revoked since the backup are revoked again',
    '  --witness FILE   the file of `backup --witness`: auditors with a newer checkpoint can then recognize the restore',
    '  --postgres-bin   directory of pg_restore and psql, of the same version as the server or later',
  ],
  codes: ['Exits with 1 if nothing was restored or accepted.'],
  run: runRestore,
};

const OPTIONS = {
  leaves: { type: 'string' },
  log: { type: 'string' },
  witness: { type: 'string' },
  backup: { type: 'string' },
  'made-at': { type: 'string' },
  'postgres-bin': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

async function runRestore(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
  const [what = 'status', directory, ...more] = positionals;
  const isCall = what === 'run' ? directory !== undefined && more.length === 0 : directory === undefined;
  if (!['run', 'status', 'accept', 'hold'].includes(what) || !isCall)
    throw new AdminError(
      'Specify one of: run DIRECTORY, status, accept, hold. See: sealwright-admin help restore',
      ADMIN_EXIT.usage,
    );
  if (what === 'run') return fromBackup(directory ?? '', values['postgres-bin'], values.json);
  await inService(async (app) => {
    if (what === 'hold') return await hold(app, values.backup, values['made-at']);
    const fault = await app.get(LogRestore).fault();
    if (fault === undefined) {
      print('Database and token match: there is nothing to accept.');
      return;
    }
    print(`${fault.code}: ${fault.message}`);
    const standing = await app.get(LogAcceptance).standing();
    const since = await revokedSince(app, values.log, standing.size);
    await report(app, standing, since);
    if (what === 'accept') await accept(app, { standing, since, leaves: values.leaves, witness: values.witness });
    else print(`To accept this database, run: sealwright-admin restore accept --leaves ${standing.size} [--log FILE]`);
  });
}

async function fromBackup(directory: string, programs: string | undefined, json: boolean): Promise<void> {
  process.umask(0o077);
  const signal = interruption();
  const order = { config: new Config(), directory, programs, signal, says: note };
  const done = await restoreBackup(order).catch((error: unknown) => {
    throw signal.aborted ? new AdminError('Interrupted. The database is still empty. Run the command again.') : error;
  });
  const { manifest, token, missingMigrations } = done;
  if (json) return print(JSON.stringify({ ...manifest, token: token ?? null, missingMigrations }));
  print(`Restored the database from ${manifest.name}, which was made at ${manifest.madeAt}.`);
  if (token === true)
    print('Restored the token from the backup. The token lacks keys that were generated after the backup.');
  if (token === false) print('The existing token was kept: it is newer than the backup.');
  if (token === undefined)
    print("The backup does not contain the token: if it was lost, restore it with the HSM vendor's tools.");
  if (missingMigrations > 0) print('The backup was made by an earlier version. Next: sealwright-admin migrate');
  print('The service stays held until the restore is accepted. Next: sealwright-admin restore status [--log FILE]');
}

async function hold(
  app: INestApplicationContext,
  backup: string | undefined,
  madeAt: string | undefined,
): Promise<void> {
  const time = new Date(madeAt ?? '');
  if (backup === undefined || Number.isNaN(time.getTime()))
    throw new AdminError(
      'hold requires --backup NAME and --made-at TIME, for example 2026-11-26T03:00:00Z',
      ADMIN_EXIT.usage,
    );
  await app.get(LogRestore).hold(backup, time);
  print('Held: processes serve no requests until the restore is accepted. Next: sealwright-admin restore status');
}

async function revokedSince(
  app: INestApplicationContext,
  file: string | undefined,
  from: number,
): Promise<RevokedSince> {
  if (file === undefined) return NOTHING_KNOWN;
  return readNewerLog(file, from, (await app.get(LogKeys).read())?.publicKey);
}

async function report(
  app: INestApplicationContext,
  { anchor, size, root }: LogStanding,
  since: RevokedSince,
): Promise<void> {
  const signed = anchor === undefined ? 'nothing' : `${anchor.size} leaves, root ${base64(anchor.root)}`;
  print(`The token has signed ${signed}.`);
  print(`The database has ${size} leaves, root ${base64(root)}.`);
  const database = app.get(LogRestore);
  const newest = await database.inspect((tx) => STATE.newestEntry(tx));
  print(
    newest === undefined
      ? 'The database has no audit entries.'
      : `The newest audit entry in the database is from ${newest.toISOString()}. Later changes are lost.`,
  );
  compareKeys(await app.get(KeyVault).holdings(), await database.inspect((tx) => STATE.keys(tx)));
  for (const { what, count } of await database.inspect((tx) => STATE.openWork(tx)))
    if (count > 0) print(`${count} ${what}.`);
  if (since === NOTHING_KNOWN)
    return print('Later revocations are unknown. Provide a newer export of the audit log with --log FILE.');
  for (const finding of since.findings) print(`The newer log: ${finding}`);
  for (const [action, count] of since.actions) print(`Lost according to the newer log: ${count} × ${action}`);
  print(`Accepting revokes ${since.apiKeys.length} API keys and disables ${since.people.length} users again.`);
}

/**
 * Lists keys that exist only in the token or only in the database. A key only in the token was created after the backup. A key only in the database was
 * destroyed after the backup, or belongs to another token.
 */
function compareKeys(held: readonly HeldKey[], recorded: readonly RecordedKey[]): void {
  const ids = new Set(recorded.map(({ ckaId }) => ckaId.toString('hex')));
  const heldIds = new Set(held.map(({ ckaId }) => Buffer.from(ckaId).toString('hex')));
  const ofRows = /^sealwright (?!canary|sealing)/;
  const unknown = held.filter(({ ckaId, label }) => ofRows.test(label) && !ids.has(Buffer.from(ckaId).toString('hex')));
  const gone = recorded.filter(({ ckaId }) => !heldIds.has(ckaId.toString('hex')));
  list(
    'keys in the token that this database does not have',
    unknown.map(({ label }) => label),
  );
  list(
    'keys in this database that the token does not have',
    gone.map(({ what }) => what),
  );
}

interface Acceptance {
  readonly standing: LogStanding;
  readonly since: RevokedSince;
  readonly leaves: string | undefined;
  readonly witness: string | undefined;
}

async function accept(app: INestApplicationContext, { standing, since, leaves, witness }: Acceptance): Promise<void> {
  if (leaves !== String(standing.size)) {
    print(`Nothing was accepted. Confirm with --leaves ${standing.size}, the number printed above.`);
    process.exitCode = ADMIN_EXIT.failed;
    return;
  }
  const key = await app.get(LogKeys).read();
  const said = witness === undefined ? [] : await readWitness(witness);
  const witnessed = key && newestWitnessed(said, key);
  if (witness !== undefined)
    print(
      witnessed === undefined
        ? 'The witness has no checkpoint of this log.'
        : `The newest checkpoint of the witness covers ${witnessed.size} leaves.`,
    );
  const { origin } = await app.get(LogRestore).accept((tx) => STATE.changes(tx, since), witnessed);
  print(`Accepted. The audit log continues as ${origin.after}; the entry log.rolled-back contains both roots.`);
  print(
    'All sessions were ended, serial numbers of SSH authorities were advanced by 2^32, and running SSH rotations were halted.',
  );
  print('Processes waiting in restore mode start working within seconds.');
}

function list(what: string, names: readonly string[]): void {
  print(`${names.length} ${what}${names.length === 0 ? '.' : ':'}`);
  for (const name of names.slice(0, MAX_KEYS_SHOWN)) print(`  ${name}`);
  if (names.length > MAX_KEYS_SHOWN) print(`  and ${names.length - MAX_KEYS_SHOWN} more`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
