import { type INestApplicationContext } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../audit/entries/audit.service.js';
import { acceptedPolicies } from '../audit/history/accepted-policies.js';
import { RightsLedger } from '../audit/history/rights-ledger.js';
import { KeyVault } from '../hsm/key-vault.js';
import type { Actor } from '../access/caller.js';
import { newId } from '../platform/database/new-id.js';
import { Problem } from '../platform/errors/problem.js';
import { canonicalJson } from '../platform/json/canonical-json.js';
import { RowSealEpoch } from '../platform/sealing/row-seal-epoch.js';
import { type AcceptedEdit, type ReviewedRows, RowSealKeeper } from '../platform/sealing/row-seal-keeper.js';
import { shownContent } from '../platform/sealing/shown-content.js';
import { Resealer } from '../platform/sealing/resealer.js';
import { SealFormat } from '../platform/sealing/seal-format.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';
import { type EarlierRow, earlierRows } from './doctor/earlier-rows.js';
import { inService } from './in-service.js';

/** Maximum number of primary keys per table in the audit entry about accepted rows. */
const MAX_RECORDED = 20;
/** Maximum number of edit counters of accepted rows in one audit entry. */
const MAX_EDITS = 1000;
const OPERATOR: Actor = { kind: 'system', id: 'operator', name: 'operator (command line)' };

/** reseal encrypts every stored secret with the current key. */
export const reseal: AdminCommand = {
  name: 'reseal',
  usage: [''],
  summary: 'Re-encrypts every stored secret with the current key after SVC_JWT_SECRET was changed',
  details: [
    'Run it after all processes of the previous version have stopped: they cannot decrypt what this command encrypts.',
    'Workers do the same within a minute. See docs/operations.md, "Secrets", for the full rotation procedure.',
  ],
  codes: ['Exits with 1 if some secrets cannot be decrypted: add the previous secret to SVC_JWT_SECRET_PREVIOUS.'],
  run: resealAll,
};

/** sealRows accepts rows whose seals do not match, after an operator has reviewed the rows. */
export const sealRows: AdminCommand = {
  name: 'seal-rows',
  usage: ['', '--accept DIGEST'],
  summary: 'Lists credentials and rights that were not written by the service, and accepts them',
  details: [
    'Without --accept, it lists the rows with their content and changes nothing. Secrets and long values are shown',
    'as SHA-256.',
    'With the printed digest, it seals exactly these rows, including any rights added directly in the database. If a row was changed since, nothing is sealed.',
    'It also lists rows that are older than the audit log. Restart all processes after accepting these rows.',
    'Use it for a restored database from before rows were sealed, or after SVC_JWT_SECRET was lost. See docs/runbook.md, "rows".',
    '',
    '  --accept DIGEST   seals the rows if their content still has this digest (SHA-256)',
  ],
  codes: ['Exits with 1 if there are rows that were not accepted.'],
  run: acceptRows,
};

/**
 * rotateSealingKey creates a new sealing key in the token and encrypts with the new key. Earlier keys are kept, because some data remains encrypted with
 * earlier keys.
 */
export const rotateSealingKey: AdminCommand = {
  name: 'rotate-sealing-key',
  usage: [''],
  summary: 'Creates a new sealing key in the token and encrypts with it',
  details: [
    'Earlier sealing keys stay in the token: host credentials and ML-DSA keys remain sealed with them.',
    'Back up the token afterwards.',
  ],
  run: newSealingKey,
};

/** retryPin lets every process retry the PIN after the PIN file was corrected. */
export const retryPin: AdminCommand = {
  name: 'retry-pin',
  usage: [''],
  summary: 'Makes every process try the PIN in its file once more',
  details: [
    'Processes do not retry a PIN that the token refused, because tokens lock after a few failed attempts.',
    'First make sure that the file contains the correct PIN: each process tries it once, within seconds.',
  ],
  run: forgetRefusedPins,
};

function resealAll(args: string[]): Promise<void> {
  parseArgs({ args });
  return inService(async (app) => {
    await app.get(SealFormat).begin();
    await app.get(RowSealEpoch).hasten();
    const done = await app.get(Resealer).run();
    await record(app, 'secrets.resealed', { ...done });
    print(`Re-sealed ${done.resealed} secrets and rows.`);
    if (done.notOpenable === 0)
      return print('The previous secret is no longer needed, except for emails and tokens in transit.');
    print(
      `${done.notOpenable} secrets cannot be decrypted. Add the previous secret to SVC_JWT_SECRET_PREVIOUS and run the command again.`,
    );
    process.exitCode = ADMIN_EXIT.failed;
  });
}

async function acceptRows(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { accept: { type: 'string' } } });
  await inService(async (app) => {
    const db = app.get(DataSource);
    const { tables, count, digest } = await db.transaction('REPEATABLE READ', (tx) => reviewIn(app, tx, false));
    for (const table of tables) show(table);
    if (count === 0) return print('Every credential and right was written by the service.');
    if (values.accept === digest && (await sealReviewed(app, digest)))
      return print(`Sealed ${count} rows with their current content.`);
    print(
      `${count} rows were not written by the service. To accept their current content, run: seal-rows --accept ${digest}`,
    );
    process.exitCode = ADMIN_EXIT.failed;
  });
}

interface Review {
  readonly tables: readonly ReviewedRows[];
  readonly count: number;
  /** Hexadecimal SHA-256 of all rows that would be accepted. */
  readonly digest: string;
  readonly policies: Awaited<ReturnType<typeof acceptedPolicies>>;
}

/** Seals the reviewed rows and records the action, in one transaction. If the digest of the rows has changed, changes nothing and returns false. */
async function sealReviewed(app: INestApplicationContext, digest: string): Promise<boolean> {
  const changed = new Error('the rows were changed after they were listed');
  const seal = async (tx: EntityManager) => {
    const { tables, policies, ...review } = await reviewIn(app, tx, true);
    if (review.digest !== digest) throw changed;
    const counts = Object.fromEntries(tables.map(({ table, count }) => [table, count]));
    const rows = Object.fromEntries(tables.map(({ table, keys }) => [table, keys.slice(0, MAX_RECORDED)]));
    const edits = tables.flatMap((table) => table.edits);
    await append(app, tx, 'rows.accepted', { ...counts, digest, rows, ...policies, edits: edits.slice(0, MAX_EDITS) });
    for (let from = MAX_EDITS; from < edits.length; from += MAX_EDITS)
      await append(app, tx, 'rows.accepted', { digest, edits: edits.slice(from, from + MAX_EDITS) });
    return true;
  };
  return app
    .get(DataSource)
    .transaction('REPEATABLE READ', seal)
    .catch((error: unknown) => {
      if (error === changed) return false;
      throw error;
    });
}

/** Reviews the sealed rows, and the rows and policies that are older than the audit log. All of these rows are accepted together. */
async function reviewIn(app: INestApplicationContext, tx: EntityManager, seal: boolean): Promise<Review> {
  const review = await app.get(RowSealKeeper).review(tx, { seal });
  const tables = [...review.tables, ...(await behindLog(app, tx, review.tables))];
  const names = tables.map(({ table }) => table);
  const policies = await acceptedPolicies(tx, names);
  const all = policies.policySet === undefined ? [] : await allPolicies(tx);
  const content = canonicalJson([review.digest, tables, policies.policySet, all]);
  const digest = createHash('sha256').update(content).digest('hex');
  return { tables, policies, digest, count: tables.reduce((sum, table) => sum + table.count, 0) };
}

/** Returns all policies, because the policy set is accepted as a whole, including policies that match their seals. */
async function allPolicies(tx: EntityManager): Promise<unknown[]> {
  const rows: { policy: unknown }[] = await tx.query(
    `SELECT to_jsonb(p) - 'seal' AS policy FROM approval_policy p ORDER BY id`,
  );
  return rows.map(({ policy }) => policy);
}

function show({ table, count, keys, contents }: ReviewedRows): void {
  print(`${table}: ${count} rows${count > keys.length ? `, of which ${keys.length} are shown` : ''}:`);
  for (const [i, key] of keys.entries()) print(`  ${key} ${contents[i] ?? ''}`);
}

/** Returns rows and policies with valid seals that are older in the database than in the audit log. */
async function behindLog(
  app: INestApplicationContext,
  tx: EntityManager,
  reviewed: readonly ReviewedRows[],
): Promise<ReviewedRows[]> {
  const policies: { id: string; revision: number }[] = await tx.query('SELECT id::text, revision FROM approval_policy');
  try {
    const history = await app.get(RightsLedger).latest();
    const keys = history
      .policiesBehind(policies)
      .map(({ id, revision, logged }) => `${id} (revision ${revision}, log: ${logged})`);
    const behind = keys.length === 0 ? [] : [{ table: 'approval_policy', count: keys.length, keys, contents: [], edits: [] }]; // prettier-ignore
    const listed = new Set(reviewed.flatMap(({ edits }) => edits.map(([id]) => id)));
    const earlier = (await earlierRows(tx, history)).filter(({ id }) => !listed.has(id));
    return [...behind, ...[...Map.groupBy(earlier, ({ table }) => table)].map(earlierOf)];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    print(`The rows were not compared with the audit log: ${error.message}`);
    return [];
  }
}

function earlierOf([table, rows]: readonly [string, readonly EarlierRow[]]): ReviewedRows {
  return {
    table,
    count: rows.length,
    keys: rows.map(({ id, edit, logged }) => `${id} (edit ${edit}, log: ${logged})`),
    contents: rows.map(({ text }) => shownContent(text)),
    edits: rows.map(({ id, edit }): AcceptedEdit => [id, edit]),
  };
}

function newSealingKey(args: string[]): Promise<void> {
  parseArgs({ args });
  return inService(async (app) => {
    const id = await app.get(KeyVault).newSealingKey();
    await record(app, 'sealing-key.rotated', { ckaId: id.toString('hex') });
    const { resealed } = await app.get(Resealer).run();
    print(`Key ${id.toString('hex')} is the new sealing key. Re-encrypted ${resealed} secrets.`);
    print(
      'Other processes use it within a minute. Host credentials and ML-DSA keys remain sealed with their earlier key.',
    );
  });
}

function forgetRefusedPins(args: string[]): Promise<void> {
  parseArgs({ args });
  return inService(async (app) => {
    const count = await app.get(KeyVault).retryPin();
    await record(app, 'hsm.pin-released', { count });
    print(`Cleared ${count} refused PINs. Each process tries the PIN in its file once, within seconds.`);
  });
}

async function record(app: INestApplicationContext, action: string, detail: Record<string, unknown>): Promise<void> {
  await app.get(DataSource).transaction((tx) => append(app, tx, action, detail));
}

function append(
  app: INestApplicationContext,
  tx: EntityManager,
  action: string,
  detail: Record<string, unknown>,
): Promise<void> {
  const target = { kind: 'service', id: 'secrets' };
  return app.get(AuditService).append(tx, [{ action, actor: OPERATOR, target, correlation: newId(), detail }]);
}
