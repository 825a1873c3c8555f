import { parseArgs } from 'node:util';
import { RightsLedger } from '../audit/history/rights-ledger.js';
import { LogAcceptance, type LogStanding } from '../audit/log/log-acceptance.js';
import { type AdminCommand, ADMIN_EXIT, print } from './command.js';
import { inService } from './in-service.js';

/** acceptLog accepts the audit log in the database although the HSM signed a different one. */
export const acceptLog: AdminCommand = {
  name: 'accept-log',
  usage: ['', '--leaves N [--damaged-in-place]'],
  summary: 'Accepts an audit log that was damaged in place; after a restore use `restore`',
  details: [
    'Without --leaves it prints both states of the log and changes nothing. With the number of leaves that it',
    'printed, it accepts them: auditors with an earlier checkpoint will find that the log was replaced.',
    '',
    'A database that is a copy (log.rolled-back, log.forked) is accepted with `restore accept`, which ends sessions and',
    'repeats later revocations. This command does neither, so you must state that the database is not a copy.',
    '',
    '  --damaged-in-place   no backup was restored by any means: rows of the log were deleted or changed in this database',
  ],
  codes: ['Returns 1 if the number differs from the one in the database.'],
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
        'If a backup was restored, by whatever means, use: sealwright-admin restore status',
        `If rows of the log were deleted or changed in this database: sealwright-admin accept-log --leaves ${standing.size} --damaged-in-place`,
      );
      if (values.leaves !== undefined) process.exitCode = ADMIN_EXIT.failed;
    } else if (values.leaves === undefined) {
      print(`To accept the log in the database: sealwright-admin accept-log --leaves ${standing.size}`);
    } else if (values.leaves === String(standing.size)) {
      await acceptance.accept();
      print(
        'Accepted. Auditors with an earlier checkpoint will find that the log was replaced; the entry audit-log.accepted explains it.',
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
