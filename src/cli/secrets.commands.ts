import { type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { parseArgs } from 'node:util';
import { DataSource } from 'typeorm';
import { AdministrationModule } from '../app/app.module.js';
import { AuditService } from '../audit/entries/audit.service.js';
import { acceptedPolicies } from '../audit/history/accepted-policies.js';
import { RightsLedger } from '../audit/history/rights-ledger.js';
import { KeyVault } from '../hsm/key-vault.js';
import type { Actor } from '../access/caller.js';
import { Config } from '../platform/config/config.js';
import { newId } from '../platform/database/new-id.js';
import { Problem } from '../platform/errors/problem.js';
import { CommandLogger } from '../platform/log/structured-logger.js';
import { RowSealEpoch } from '../platform/sealing/row-seal-epoch.js';
import { type ForgedRows, RowSealKeeper } from '../platform/sealing/row-seal-keeper.js';
import { Resealer } from '../platform/sealing/resealer.js';
import { SealFormat } from '../platform/sealing/seal-format.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';

const OPERATOR: Actor = { kind: 'system', id: 'operator', name: 'operator (command line)' };

/** Seals every stored secret by the present key. */
export const reseal: AdminCommand = {
  name: 'reseal',
  usage: [''],
  summary: 'Seals every stored secret by the present key, after SVC_JWT_SECRET was changed',
  details: [
    'Run it once no process of the previous version runs: those cannot decrypt what this encrypts.',
    'Workers do the same within a minute. docs/operations.md, "Secrets", has the whole order of a rotation.',
  ],
  codes: ['Returns 1 if secrets remain that cannot be decrypted: add the earlier one to SVC_JWT_SECRET_PREVIOUS.'],
  run: resealAll,
};

/** Accepts rows that do not match their seals, after an operator has looked at them. */
export const sealRows: AdminCommand = {
  name: 'seal-rows',
  usage: ['', '--accept COUNT'],
  summary: 'Lists credentials and rights that were not written by the service, and accepts them',
  details: [
    'Without --accept it lists the rows by table and primary key, and changes nothing.',
    'With the printed number it seals them as they are, including rights that someone added in the database.',
    'For a database of before the seals that was restored, and after SVC_JWT_SECRET was lost. docs/runbook.md, "rows".',
    '',
    '  --accept COUNT   seals the rows, if there are exactly COUNT of them',
  ],
  codes: ['Returns 1 if there are rows that are not accepted.'],
  run: acceptRows,
};

/** Makes another sealing key in the token and seals by it. Keys before it stay: they open what is not sealed anew. */
export const rotateSealingKey: AdminCommand = {
  name: 'rotate-sealing-key',
  usage: [''],
  summary: 'Creates a new sealing key in the token, and encrypts with it',
  details: [
    'Earlier sealing keys stay in the token: credentials of hosts and ML-DSA keys stay under them.',
    'Back up the token afterwards.',
  ],
  run: newSealingKey,
};

/** Lets every process try its PIN once more, after the PIN of the token was changed to the one in the file. */
export const retryPin: AdminCommand = {
  name: 'retry-pin',
  usage: [''],
  summary: 'Lets every process try the PIN in its file once more',
  details: [
    'No process retries a PIN that the token refused, since a token locks after a few attempts.',
    'First make sure that the file contains the PIN of the token: each process tries it once, within seconds.',
  ],
  run: forgetRefusedPins,
};

function resealAll(args: string[]): Promise<void> {
  return inService(args, async (app) => {
    await app.get(SealFormat).begin();
    await app.get(RowSealEpoch).hasten();
    const done = await app.get(Resealer).run();
    await record(app, 'secrets.resealed', { ...done });
    print(`${done.resealed} secrets and rows were sealed again.`);
    if (done.notOpenable === 0)
      return print('Nothing needs an earlier secret any longer, except mails and tokens in transit.');
    print(`${done.notOpenable} secrets do not open: add the earlier secret to SVC_JWT_SECRET_PREVIOUS and repeat.`);
    process.exitCode = ADMIN_EXIT.failed;
  });
}

async function acceptRows(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { accept: { type: 'string' } } });
  await inService([], async (app) => {
    const keeper = app.get(RowSealKeeper);
    const forged = [...(await keeper.forged()), ...(await policiesBehind(app))];
    const count = forged.reduce((sum, table) => sum + table.count, 0);
    for (const table of forged) print(`${table.table}: ${table.count} rows: ${table.keys.join(', ')}`);
    if (count === 0) return print('Every credential and right was written by the service.');
    if (values.accept === String(count)) {
      const sealed = await keeper.sealAll();
      const tables = forged.map(({ table }) => table);
      await record(app, 'rows.accepted', { ...sealed, ...(await acceptedPolicies(app.get(DataSource), tables)) });
      return print(`${count} rows were sealed as they are.`);
    }
    print(`${count} rows were not written by the service. To accept them as they are: seal-rows --accept ${count}`);
    process.exitCode = ADMIN_EXIT.failed;
  });
}

/** Returns policies that were restored in the database, with valid seals, although the audit log has newer revisions. */
async function policiesBehind(app: INestApplicationContext): Promise<ForgedRows[]> {
  const rows: { id: string; revision: number }[] = await app
    .get(DataSource)
    .query('SELECT id::text, revision FROM approval_policy');
  try {
    const behind = (await app.get(RightsLedger).latest()).policiesBehind(rows);
    const keys = behind.map(({ id, revision, logged }) => `${id} (revision ${revision}, log: ${logged})`);
    return keys.length === 0 ? [] : [{ table: 'approval_policy', count: keys.length, keys }];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    print(`The approval policies were not compared with the audit log: ${error.message}`);
    return [];
  }
}

function newSealingKey(args: string[]): Promise<void> {
  return inService(args, async (app) => {
    const id = await app.get(KeyVault).newSealingKey();
    await record(app, 'sealing-key.rotated', { ckaId: id.toString('hex') });
    const { resealed } = await app.get(Resealer).run();
    print(`The key ${id.toString('hex')} seals from now on; ${resealed} secrets were encrypted again.`);
    print(
      'Other processes use it within a minute. Credentials of hosts and ML-DSA keys stay under the key that sealed them.',
    );
  });
}

function forgetRefusedPins(args: string[]): Promise<void> {
  return inService(args, async (app) => {
    const count = await app.get(KeyVault).retryPin();
    await record(app, 'hsm.pin-released', { count });
    print(`${count} refused PINs were forgotten: each process tries the PIN in its file once, within seconds.`);
  });
}

async function record(app: INestApplicationContext, action: string, detail: Record<string, unknown>): Promise<void> {
  const target = { kind: 'service', id: 'secrets' };
  await app
    .get(DataSource)
    .transaction((tx) =>
      app.get(AuditService).append(tx, [{ action, actor: OPERATOR, target, correlation: newId(), detail }]),
    );
}

async function inService(args: string[], work: (app: INestApplicationContext) => Promise<void>): Promise<void> {
  parseArgs({ args });
  const app = await NestFactory.createApplicationContext(AdministrationModule, {
    logger: new CommandLogger(new Config()),
  });
  try {
    await work(app);
  } finally {
    await app.close();
  }
}
