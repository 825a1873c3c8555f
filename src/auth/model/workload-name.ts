import type { Claims } from '../../access/identity/verified-identity.js';
import { truncate } from '../../platform/text/truncate.js';

const MAX_NAME_LENGTH = 200;

/** Returns the name of a run in the audit log and for approvers: `app releases: repo:org/app:ref:refs/tags/v1`. */
export function workloadName(trust: string, { sub }: Claims): string {
  return truncate(`${trust}: ${typeof sub === 'string' ? sub : ''}`.replaceAll(/\p{C}/gu, ' '), MAX_NAME_LENGTH);
}
