import { Matches } from 'class-validator';
import { Text } from '../../../platform/http/fields/fields.js';
import type { OwnName } from '../../model/rule-set.js';

/** Matches the name of an algorithm in a document, without line breaks and other control characters. */
const NAME = /^[^\p{Cc}]+$/u;
const NOT_BLANK = /\S/;
export const MAX_NAME_LENGTH = 120;

export class OwnNameBody {
  /** Name as it occurs in documents. Case is ignored. @example PaymentCipher */
  @Text(1, MAX_NAME_LENGTH) @Matches(NAME) @Matches(NOT_BLANK) name: string;
  /** Known algorithm to which the name refers. @example AES-256-GCM */
  @Text(1, MAX_NAME_LENGTH) means: string;
  /** @example 'Documented in the vendor manual, section 4' */
  @Text(1, 1000) reason: string;
}

export class OwnNameQuery {
  /** @example PaymentCipher */
  @Text(1, MAX_NAME_LENGTH) name: string;
}

export class OwnNameView {
  /** @example PaymentCipher */
  name: string;
  /** @example AES-256-GCM */
  means: string;
  /** @example 'Documented in the vendor manual, section 4' */
  reason: string;
  /** ID of the user or API key that defined the name. @example 0197f2e0-8d1c-7c3a-9f0e-0c6b5a4d3e2f */
  by: string;
  /** @example 2026-11-20T12:00:00.000Z */
  at: string;
}

export class OwnNamesView {
  items: OwnNameView[];
  /** Always null: the page contains all names. @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;

  static of(names: readonly OwnName[]): OwnNamesView {
    return { items: names.map((name) => ({ ...name })), nextCursor: null };
  }
}
