import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { AdministrationModule } from '../app/app.module.js';
import { LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { LogKeys } from '../audit/log/log-keys.js';
import { LogRestore } from '../audit/log/log-restore.js';
import { type HeldKey, KeyVault } from '../hsm/key-vault.js';
import { Config } from '../platform/config/config.js';
import { StructuredLogger } from '../platform/log/structured-logger.js';
import { NOTHING_KNOWN, readNewerLog, type RevokedSince } from './restore/newer-log.js';
import { type RecordedKey, RestoredState } from './restore/restored-state.repository.js';

const MAX_KEYS_SHOWN = 20;
const STATE = new RestoredState();

/**
 * `restore status` says why nothing is served after a restore, and what an operator must know before accepting it. `restore accept --leaves N`
 * accepts the database. `--log FILE` is a newer export of the audit log: what it shows as revoked is revoked again.
 */
export async function restore(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { leaves: { type: 'string' }, log: { type: 'string' } },
  });
  const [what = 'status'] = positionals;
  if (!['status', 'accept'].includes(what)) throw new Error('restore takes: status, or accept --leaves N [--log FILE]');
  const app = await NestFactory.createApplicationContext(AdministrationModule, {
    logger: new StructuredLogger(new Config()),
  });
  try {
    const fault = await app.get(LogRestore).fault();
    if (fault === undefined) {
      print('Database and token belong together: there is nothing to accept.');
      return;
    }
    print(`${fault.code}: ${fault.message}`);
    const standing = await app.get(LogAcceptance).standing();
    const since = await revokedSince(app, values.log, standing.size);
    await report(app, standing, since);
    if (what === 'accept') await accept(app, { standing, since, leaves: values.leaves });
    else print(`To accept this database: sealwright-admin restore accept --leaves ${standing.size} [--log FILE]`);
  } finally {
    await app.close();
  }
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
      ? 'It has no audit entry.'
      : `Its newest audit entry is of ${newest.toISOString()}; later changes are lost.`,
  );
  compareKeys(await app.get(KeyVault).holdings(), await database.inspect((tx) => STATE.keys(tx)));
  for (const { what, count } of await database.inspect((tx) => STATE.openWork(tx)))
    if (count > 0) print(`${count} ${what}.`);
  if (since === NOTHING_KNOWN)
    return print('Who was revoked since is not known here. With --log FILE, a newer export of the audit log, it is.');
  for (const finding of since.findings) print(`The newer log: ${finding}`);
  for (const [action, count] of since.actions) print(`Lost, by the newer log: ${count} × ${action}`);
  print(`Of these ${since.apiKeys.length} API keys are revoked and ${since.people.length} people disabled again.`);
}

/** A key in the token that the database does not have was made after the backup; the reverse was destroyed since, or is of another token. */
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
    'keys of this database that the token does not hold',
    gone.map(({ what }) => what),
  );
}

async function accept(
  app: INestApplicationContext,
  { standing, since, leaves }: { standing: LogStanding; since: RevokedSince; leaves: string | undefined },
): Promise<void> {
  if (leaves !== String(standing.size)) {
    print(`Nothing was accepted: say --leaves ${standing.size}, the number that was read and printed above.`);
    process.exitCode = 1;
    return;
  }
  const { origin } = await app.get(LogRestore).accept((tx) => STATE.changes(tx, since));
  print(`Accepted. The audit log goes on as ${origin.after}; the entry log.rolled-back has both roots.`);
  print(
    'All sessions were ended, serials of SSH authorities were moved on by 2^32, and running SSH rotations were halted.',
  );
  print('Processes that wait in restore mode begin their work within seconds.');
}

function list(what: string, names: readonly string[]): void {
  print(`${names.length} ${what}${names.length === 0 ? '.' : ':'}`);
  for (const name of names.slice(0, MAX_KEYS_SHOWN)) print(`  ${name}`);
  if (names.length > MAX_KEYS_SHOWN) print(`  and ${names.length - MAX_KEYS_SHOWN} more`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
