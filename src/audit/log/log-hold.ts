import type { LogAnchor, LogHold } from '../../hsm/key-vault.js';
import { Problem } from '../../platform/errors/problem.js';

const ACCEPT =
  'if that is meant, for example after a restore, an operator accepts it with: sealwright-admin accept-log';

/** The reason why no checkpoint is signed, with what to do. `size`: number of leaves in the database. */
export function logHeld(why: LogHold, anchor: LogAnchor | undefined, size: number): Problem {
  const signed = anchor?.size ?? 0;
  switch (why) {
    case 'rolled-back':
      return new Problem(
        'conflict',
        'log.rolled-back',
        `The database has ${size} leaves of the audit log, but ${signed} were signed: it is an older copy. Compare it with a backup; ${ACCEPT}.`,
      );
    case 'forked':
      return new Problem(
        'conflict',
        'log.forked',
        `The first ${signed} leaves of the audit log are not those that were signed: it was rewritten, or is another copy. Compare it with a backup; ${ACCEPT}.`,
      );
    case 'other-key':
      return new Problem(
        'conflict',
        'log.other-key',
        `The HSM knows this audit log under another key than the database, with ${signed} signed leaves. Restore the table log_key; ${ACCEPT}.`,
      );
    case 'no-anchor':
      return new Problem(
        'conflict',
        'log.no-anchor',
        `The HSM does not know this audit log, and the database has no checkpoint that its key signed. Restore the table log_checkpoint; ${ACCEPT}.`,
      );
  }
}
