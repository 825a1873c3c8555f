import type { Actor } from '../../access/caller.js';
import { WORKER_ID } from '../../platform/jobs/lease.js';

/** The actor of audit entries that no caller caused. */
export const SIGNING_ACTOR: Actor = { kind: 'system', id: WORKER_ID, name: 'signing worker' };
