import type { Evidence } from '../evidence.js';
import type { Check, Finding } from './finding.js';

/** Invariant 15: no secret leaks. */
export const secretsStay: Check = ({ leaks, searched }: Evidence): Finding => ({
  id: '15',
  title: 'no secret in logs, database, Redis, process arguments or HTTP answers, in any encoding',
  figures: searched,
  violations: leaks,
});
