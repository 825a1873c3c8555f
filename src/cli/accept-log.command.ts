import { parseArgs } from 'node:util';
import { RightsLedger } from '../audit/history/rights-ledger.js';
import { LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';
import { inService } from './in-service.js';

/** acceptLog accepts the audit log in the database although the HSM signed a different one. */
export const acceptLog: AdminCommand = {
  name: 'accept-log',
  usage: ['', '--leaves N [--damaged-in-place]'],
  summary: 'Accepts an audit log that was damaged in place. After a restore, use `restore` instead',
  details: [
    'Without --leaves, it prints the state of the log in the HSM and in the database, and changes nothing. With the',
    'printed number of leaves, it accepts the log: auditors with an earlier checkpoint will see that it was replaced.',
    '',
    'Accept a restored copy of the database (log.rolled-back, log.forked) with `restore accept`, which ends sessions and',
    'repeats later revocations. This command does neither, so you must confirm that the database is not a copy.',
    '',
    '  --damaged-in-place   confirms that no backup was restored: rows of the log were deleted or changed in this database',
  ],
  codes: ['Exits with 1 if the number differs from the one in the database.'],
  run: accept,
};

/** Faults that a database restored from a backup shows. Damage can cause the same faults. */
const MAY_BE_RESTORED = new Set(['log.rolled-back', 'log.forked']);

const OPTIONS = {
  leaves: { type: 'string' },
  'damaged-in-place': { type: 'boolean', default: false },
} as const;

async function accept(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: OPTIONS });
  await inService(async (app) => {
    const acceptance = app.get(LogAcceptance);
    const standing = await acceptance.standing();
    say(standing);
    const damaged = standing.fault === undefined ? await app.get(RightsLedger).damagedLeaf() : undefined;
    if (damaged !== undefined) print(`The entry of leaf ${damaged} was changed or removed.`);
    if (standing.fault === undefined && damaged === undefined) return;
    if (standing.fault !== undefined && MAY_BE_RESTORED.has(standing.fault.code) && !values['damaged-in-place']) {
      print(
        'If any kind of backup was restored, run: sealwright-admin restore status',
        `If rows of the log were deleted or changed in this database, run: sealwright-admin accept-log --leaves ${standing.size} --damaged-in-place`,
      );
      if (values.leaves !== undefined) process.exitCode = ADMIN_EXIT.failed;
    } else if (values.leaves === undefined) {
      print(`To accept the log in the database, run: sealwright-admin accept-log --leaves ${standing.size}`);
    } else if (values.leaves === String(standing.size)) {
      await acceptance.accept();
      print(
        'Accepted. Auditors with an earlier checkpoint will see that the log was replaced; the entry audit-log.accepted explains it.',
      );
    } else {
      print(`Nothing was accepted: the database has ${standing.size} leaves, not ${values.leaves}.`);
      process.exitCode = ADMIN_EXIT.failed;
    }
  });
}

function say({ fault, anchor, size, root }: LogStanding): void {
  const signed =
    anchor === undefined ? 'nothing' : `${anchor.size} leaves, root ${Buffer.from(anchor.root).toString('base64')}`;
  print(`The HSM has signed ${signed}.`);
  print(`The database has ${size} leaves, root ${root.toString('base64')}.`);
  print(fault === undefined ? 'There is nothing to accept.' : `${fault.code}: ${fault.message}`);
}
