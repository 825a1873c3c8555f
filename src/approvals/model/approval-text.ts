import { createHash } from 'node:crypto';
import { canonicalJson } from '../../platform/json/canonical-json.js';

export function textHash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** approvalHash returns the hash that an approval of this document must have. */
export function approvalHash(shown: Record<string, unknown>): Buffer {
  return textHash(canonicalJson(shown));
}
