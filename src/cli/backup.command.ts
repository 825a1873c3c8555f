import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { Config } from '../platform/config/config.js';
import { recordBackup } from './backup/backup-record.js';
import { type MadeBackup, makeBackup, testify } from './backup/make-backup.js';
import { type BackupManifest, readManifest } from './backup/manifest.js';
import { findPrograms } from './backup/postgres-programs.js';
import { faultsOf, witnessFault } from './backup/verify-backup.js';
import { type AdminCommand, AdminError, ADMIN_EXIT, interruption, note, print } from './command.js';

/** backup creates and verifies backups of the database, the token and the settings. */
export const backup: AdminCommand = {
  name: 'backup',
  usage: [
    '--out DIRECTORY [--base] [--witness FILE|https://…] [--postgres-bin DIRECTORY] [--json]',
    'verify DIRECTORY [--witness FILE] [--postgres-bin DIRECTORY] [--json]',
    'record [--made-at TIME]',
  ],
  summary: 'Backs up the database, token, settings and audit log state; verifies backups',
  details: [
    'The service keeps running. The database is copied as a consistent snapshot, then the token, and then everything is',
    'read back. Only then does the backup get its final name. A directory named ….partial is not a backup.',
    '',
    '  --out DIRECTORY   parent of the new directory sealwright-TIME, mode 0700',
    '  --base            uses pg_basebackup instead of pg_dump: for large databases, or with a WAL archive. Requires the',
    "                    REPLICATION privilege. Restore it with PostgreSQL's own tools (docs/restore.md)",
    '  --witness W       reports the backup and the newest checkpoint to a file on another machine, or an HTTPS address.',
    '                    With verify: checks that the witness recorded this backup',
    '  --postgres-bin D  directory of pg_dump and pg_restore, of the same version as the server or later',
    '  record            records a backup made by other means, so that metrics and doctor show its age',
    '',
    "SoftHSM tokens are included. Back up any other HSM with its vendor's tools after each new key.",
    'The backup contains no secrets: SVC_JWT_SECRET, passwords and the PIN are in your secret store. The encrypted values',
    'in the database cannot be decrypted without them and the token, so keep them for as long as the backup.',
  ],
  codes: ['Exits with 1 if no backup was made, or if the verified backup has a fault. Partial backups are removed.'],
  async run(args) {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    const [what, directory, ...more] = positionals;
    if (what === undefined && values.out !== undefined) return make(values.out, values);
    if (what === 'record' && directory === undefined) return record(values['made-at']);
    if (what === 'verify' && directory !== undefined && more.length === 0) return verify(directory, values);
    throw new AdminError(
      'Specify one of: --out DIRECTORY, verify DIRECTORY, record. See: sealwright-admin help backup',
      ADMIN_EXIT.usage,
    );
  },
};

const OPTIONS = {
  out: { type: 'string' },
  base: { type: 'boolean', default: false },
  witness: { type: 'string' },
  'made-at': { type: 'string' },
  'postgres-bin': { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

interface Values {
  readonly base: boolean;
  readonly witness?: string | undefined;
  readonly 'postgres-bin'?: string | undefined;
  readonly json: boolean;
}

async function make(out: string, { base, witness, json, 'postgres-bin': programs }: Values): Promise<void> {
  // Files written by child processes are readable only by this account.
  process.umask(0o077);
  const way = base ? 'base' : 'logical';
  const config = new Config();
  const began = new Date();
  const made = await makeBackup({
    config,
    out,
    way,
    witness,
    programs,
    signal: interruption(),
    says: note,
  }).catch(async (error: Error) => {
    await remember(config, { at: began, fault: error.message });
    throw error;
  });
  await remember(config, { at: new Date(made.manifest.madeAt) });
  if (json) print(JSON.stringify({ directory: made.directory, manifestSha256: made.manifestSha256, ...made.manifest }));
  else print(...linesOf(made));
  if (witness === undefined) return;
  await testify(witness, made).catch((error: Error) => {
    throw new AdminError(
      `${error.message}. The backup is complete, but was not recorded by the witness: ${made.directory}`,
    );
  });
}

/** remember records the outcome for metrics and alerts. The backup is valid even if the outcome cannot be recorded. */
async function remember(config: Config, outcome: { at: Date; fault?: string }): Promise<void> {
  await recordBackup(config, outcome).catch((error: Error) => {
    note(`The outcome was not recorded in the database, so metrics and doctor do not show it: ${error.message}`);
  });
}

/** record stores the time of a backup that was made by other means, such as pgBackRest or snapshots. */
async function record(madeAt: string | undefined): Promise<void> {
  const at = new Date(madeAt ?? Date.now());
  if (Number.isNaN(at.getTime()) || at.getTime() > Date.now() + 60_000)
    throw new AdminError('--made-at must be a time in the past, for example 2026-11-26T03:00:00Z', ADMIN_EXIT.usage);
  await recordBackup(new Config(), { at });
  print(`Recorded a backup of ${at.toISOString()}.`);
}

function linesOf({ directory, manifest, manifestSha256 }: MadeBackup): string[] {
  const { token, log, database } = manifest;
  return [
    `${directory}: complete and verified.`,
    `Database: PostgreSQL ${database.server}, ${manifest.schema.migrations.length} migrations, version ${manifest.version}.`,
    log === undefined
      ? 'Audit log: no checkpoint has been signed yet.'
      : `Audit log: ${log.origin}, ${log.size} leaves, root ${log.root}.`,
    token.way === 'softhsm'
      ? `Token: SoftHSM token "${token.label}". Its keys are encrypted with the PIN.`
      : `Token: NOT IN THIS BACKUP. Back up "${token.label}" with the HSM vendor's tools (module ${token.module}).`,
    'Not included: SVC_JWT_SECRET, passwords and the PIN. Keep them for as long as the backup.',
    `SHA-256 of the manifest: ${manifestSha256}`,
  ];
}

async function verify(directory: string, { witness, json, 'postgres-bin': bin }: Values): Promise<void> {
  const manifest = await readManifest(directory);
  const programs = await findPrograms(manifest.database.program, bin).catch(() => undefined);
  const faults = await faultsOf(directory, manifest, { programs });
  if (manifest.name !== basename(directory)) note(`It was created as ${manifest.name}.`);
  const unseen = witness === undefined ? undefined : await witnessFault(directory, manifest, witness);
  if (unseen !== undefined) faults.push(unseen);
  if (json) print(JSON.stringify({ directory, faults, readDump: programs !== undefined, ...manifest }));
  else print(...reportOf(manifest, faults, programs !== undefined));
  process.exitCode = faults.length === 0 ? ADMIN_EXIT.done : ADMIN_EXIT.failed;
}

function reportOf(
  { name, madeAt, version, files }: BackupManifest,
  faults: readonly string[],
  readDump: boolean,
): string[] {
  if (faults.length > 0) return [`${name} is damaged:`, ...faults.map((fault) => `  ${fault}`)];
  return [
    `${name} of ${madeAt}, version ${version}: all ${files.length} files are unchanged.`,
    ...(readDump ? [] : ['The dump was not verified: no pg_restore of its version is installed on this machine.']),
  ];
}
