import { Problem } from '../../platform/errors/problem.js';
import type { Rejection, Remark } from './document.js';

/**
 * Items of a document that may be refused one by one. An answer names each of them, and two bytes of a body are enough for one, so that an
 * unlimited list takes far more memory than the body.
 */
export const MAX_REJECTED = 10_000;
/** Repairs and warnings of one kind of a document that its answer lists. */
export const MAX_REMARKS = 1000;

/** addRejection lists an item that is refused by itself. Throws Problem 422 `document.invalid` for the first one above MAX_REJECTED. */
export function addRejection(rejected: Rejection[], rejection: Rejection): void {
  if (rejected.length < MAX_REJECTED) return void rejected.push(rejection);
  const { pointer, detail } = rejection;
  throw new Problem(
    'refused',
    'document.invalid',
    `The document is refused: more than ${MAX_REJECTED} of its items are invalid. Correct them (the last one: ${pointer}, ${detail}), or send it in parts.`,
    { errors: [{ pointer, detail }] },
  );
}

/** addRemark lists a repair or a warning, up to MAX_REMARKS of them. */
export function addRemark(remarks: Remark[], remark: Remark): void {
  if (remarks.length < MAX_REMARKS) remarks.push(remark);
}
