import { nothingBefore, trulyApproved } from './approvals.js';
import { completeLog, legalMoves, signedOnce } from './audit.js';
import type { Check } from './finding.js';
import { keysStay, rightKey, signaturesVerify } from './keys.js';
import { explained, intentFirst } from './operations.js';
import { acceptedOnce, everythingEnds } from './requests.js';
import { secretsStay } from './secrecy.js';

/** Invariants in the order of their numbers. */
export const INVARIANTS: readonly Check[] = [
  acceptedOnce,
  everythingEnds,
  legalMoves,
  signedOnce,
  intentFirst,
  explained,
  signaturesVerify,
  rightKey,
  trulyApproved,
  nothingBefore,
  completeLog,
  secretsStay,
  keysStay,
];
