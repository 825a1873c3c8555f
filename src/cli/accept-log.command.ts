import { parseArgs } from 'node:util';
import { RightsLedger } from '../audit/history/rights-ledger.js';
import { type DoubtfulLeaves, LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';
import { inService } from './in-service.js';

/** acceptLog accepts the audit log in the database although the HSM signed a different log. */
export const acceptLog: AdminCommand = {
  name: 'accept-log',
  usage: ['', '--leaves N [--digest DIGEST] [--damaged-in-place]'],
  summary: 'Accepts an audit log that was damaged in place. After a restore, use `restore` instead',
  details: [
    'Without --leaves, it prints the state of the log in the HSM and in the database, and changes nothing. With the',
    'printed number of leaves, it accepts the log: auditors with an earlier checkpoint will see that it was replaced.',
    '',
    'It lists leaves since the last checkpoint that the service did not append, and entries that were changed or',
    'removed. They are accepted only with the digest of this list. The log then marks these leaves as foreign or',
    'missing, and their entries have no effect. `log verify` and `doctor` keep reporting them.',
    '',
    'Accept a restored copy of the database (log.rolled-back, log.forked) with `restore accept`, which ends sessions and',
    'repeats later revocations. This command does neither, so you must confirm that the database is not a copy.',
    '',
    '  --digest DIGEST      the digest of the listed leaves (SHA-256)',
    '  --damaged-in-place   confirms that no backup was restored: rows of the log were deleted or changed in this database',
  ],
  codes: ['Exits with 1 if the number of leaves or the digest does not match the database.'],
  run: accept,
};

/** Faults that a restore from a backup can cause. Damage in place can cause the same faults. */
const MAY_BE_RESTORED = new Set(['log.rolled-back', 'log.forked']);

/** Maximum number of ranges of damaged leaves in one audit entry. */
const MAX_RANGES = 1000;
const MAX_LISTED = 1000;

const OPTIONS = {
  leaves: { type: 'string' },
  digest: { type: 'string' },
  'damaged-in-place': { type: 'boolean', default: false },
} as const;

async function accept(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: OPTIONS });
  await inService(async (app) => {
    const acceptance = app.get(LogAcceptance);
    const standing = await acceptance.standing();
    say(standing);
    const damaged = standing.fault === undefined ? await app.get(RightsLedger).damagedLeaves() : [];
    const doubtful = await acceptance.doubtful(damaged);
    list(doubtful);
    const { digest } = doubtful;
    if (standing.fault === undefined && digest === undefined) return print('There is nothing to accept.');
    const mayBeRestored = standing.fault !== undefined && MAY_BE_RESTORED.has(standing.fault.code);
    const order = [
      `sealwright-admin accept-log --leaves ${standing.size}`,
      ...(digest === undefined ? [] : [`--digest ${digest}`]),
      ...(mayBeRestored ? ['--damaged-in-place'] : []),
    ].join(' ');
    if (damaged.length > MAX_RANGES) {
      print(
        `More than ${MAX_RANGES} ranges of entries were changed or removed. Restore the entries or the whole database.`,
      );
      process.exitCode = ADMIN_EXIT.failed;
    } else if (mayBeRestored && !values['damaged-in-place']) {
      print(
        'If any kind of backup was restored, run: sealwright-admin restore status',
        `If rows of the log were deleted or changed in this database, run: ${order}`,
      );
      if (values.leaves !== undefined) process.exitCode = ADMIN_EXIT.failed;
    } else if (values.leaves === undefined) {
      print(`To accept the log in the database, run: ${order}`);
    } else if (values.leaves !== String(standing.size)) {
      print(`Nothing was accepted: the database has ${standing.size} leaves, not ${values.leaves}.`);
      process.exitCode = ADMIN_EXIT.failed;
    } else if ((await acceptance.accept(damaged, values.digest)) === undefined) {
      print(`Nothing was accepted: specify the digest of the listed leaves. Run: ${order}`);
      process.exitCode = ADMIN_EXIT.failed;
    } else {
      print(
        'Accepted. Auditors with an earlier checkpoint will see that the log was replaced; the entry audit-log.accepted explains the replacement.',
      );
    }
  });
}

/** Prints the leaves that an operator must confirm with their digest. */
function list({ foreign, damaged }: DoubtfulLeaves): void {
  for (const { index, kind, entryId, entry } of foreign.slice(0, MAX_LISTED)) {
    const what =
      entry === undefined
        ? `${kind ?? 'no row'}, without its entry ${entryId ?? ''}`
        : `${entry.action} of ${entry.target.kind} ${entry.target.id} by ${entry.actor.kind} ${entry.actor.id}, ${entry.at}`;
    print(`Leaf ${index} was not appended by the service: ${what}`);
  }
  if (foreign.length > MAX_LISTED) print(`and ${foreign.length - MAX_LISTED} more`);
  for (const { from, to } of damaged)
    print(
      to - from === 1
        ? `The entry of leaf ${from} was changed or removed.`
        : `The entries of leaves ${from} to ${to - 1} were changed or removed.`,
    );
}

function say({ fault, anchor, size, root }: LogStanding): void {
  const signed =
    anchor === undefined ? 'nothing' : `${anchor.size} leaves, root ${Buffer.from(anchor.root).toString('base64')}`;
  print(`The HSM has signed ${signed}.`);
  print(`The database has ${size} leaves, root ${root.toString('base64')}.`);
  if (fault !== undefined) print(`${fault.code}: ${fault.message}`);
}
