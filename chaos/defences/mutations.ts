import { ACCEPTANCE } from './acceptance.js';
import { COSTS } from './costs.js';
import { DATABASE } from './database.js';
import { HOSTS } from './hosts.js';
import { LOG } from './log.js';
import type { Mutation } from './mutation.js';
import { OWNER } from './owner.js';
import { PROMISES } from './promises.js';
import { REQUESTERS } from './requesters.js';
import { RIGHTS } from './rights.js';
import { TRUST } from './trust.js';

/** Number of findings of the security review of November 2026 (docs/attacks.md). */
export const FINDINGS = 30;

/** Defences against the findings. */
export const MUTATIONS: readonly Mutation[] = [
  ...HOSTS,
  ...RIGHTS,
  ...COSTS,
  ...LOG,
  ...OWNER,
  ...PROMISES,
  ...TRUST,
  ...DATABASE,
  ...ACCEPTANCE,
  ...REQUESTERS,
].toSorted((one, other) => one.finding - other.finding);
