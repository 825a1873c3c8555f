import { Problem } from '../../platform/errors/problem.js';
import type { Rejection, Remark } from './document.js';

/**
 * MAX_REJECTED is the maximum number of items in a document that may be rejected individually. The response lists each rejected item, and an item may be as
 * short as two bytes, so an unlimited list would take far more memory than the body.
 */
export const MAX_REJECTED = 10_000;
/** MAX_REMARKS is the maximum number of repairs, and the maximum number of warnings, that the response about a document lists. */
export const MAX_REMARKS = 1000;

/** addRejection adds an item to the list of rejected items. Throws Problem 422 `document.invalid` if the list already contains MAX_REJECTED items. */
export function addRejection(rejected: Rejection[], rejection: Rejection): void {
  if (rejected.length < MAX_REJECTED) return void rejected.push(rejection);
  const { pointer, detail } = rejection;
  throw new Problem(
    'refused',
    'document.invalid',
    `The document was rejected because more than ${MAX_REJECTED} of its items are invalid. Correct the invalid items (the last one: ${pointer}, ${detail}), or send the document in parts.`,
    { errors: [{ pointer, detail }] },
  );
}

/** addRemark adds a repair or a warning to the list, unless the list already contains MAX_REMARKS remarks. */
export function addRemark(remarks: Remark[], remark: Remark): void {
  if (remarks.length < MAX_REMARKS) remarks.push(remark);
}
