import { Matches, ValidateBy } from 'class-validator';
import { Int, ListOf, Nested, OneOf, Optional, Text } from '../../platform/http/fields/fields.js';
import { ClaimConditionBody } from '../../access/identity/identity.dto.js';
import { DIGEST_BYTES, type DigestAlgorithm, SCHEMES, type SignatureScheme } from '../../hsm/key-vault.js';
import { SIGNATURE_FORMATS, type SignatureFormat } from '../formats/signature-format.js';
import {
  type KeyConstraints,
  TIMESTAMP_RULES,
  isTimeZone,
  type SigningHours,
  type Weekday,
  WEEKDAYS,
} from './key-constraints.js';

const ALGORITHMS = Object.keys(DIGEST_BYTES);
const MAX_USES = 1_000_000_000;
const CLOCK = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

export class SigningHoursBody implements SigningHours {
  @ListOf(OneOf(WEEKDAYS), { min: 1, unique: true, example: ['mon', 'tue', 'wed', 'thu', 'fri'] }) days: Weekday[];
  /** @example 08:00 */
  @Matches(CLOCK, { message: 'must be HH:MM' }) from: string;
  /** End of the daily period; must be later than `from`. 24:00 is the end of the day. @example 18:00 */
  @Matches(CLOCK, { message: 'must be HH:MM' })
  @ValidateBy({
    name: 'later',
    validator: {
      validate: (until, at) =>
        typeof until === 'string' && until > ((at?.object as SigningHoursBody | undefined)?.from ?? ''),
      defaultMessage: () => 'must be later than from',
    },
  })
  until: string;
  /** Time zone (IANA name). @example Europe/Berlin */
  @Text(1, 64)
  @ValidateBy({
    name: 'timeZone',
    validator: {
      validate: (name) => typeof name === 'string' && isTimeZone(name),
      defaultMessage: () => 'must be an IANA time zone, for example Europe/Berlin',
    },
  })
  timeZone: string;
}

/** Limits on the use of the key. An absent field imposes no limit. */
export class KeyConstraintsBody implements KeyConstraints {
  @Optional(ListOf(OneOf(ALGORITHMS), { min: 1, unique: true, example: ['sha256', 'sha384'] }))
  algorithms?: DigestAlgorithm[];
  @Optional(ListOf(OneOf(SCHEMES), { min: 1, unique: true, example: ['ecdsa-der'] })) schemes?: SignatureScheme[];
  @Optional(ListOf(OneOf(SIGNATURE_FORMATS), { min: 1, unique: true, example: ['cms', 'authenticode'] }))
  formats?: SignatureFormat[];
  /** `metadata.filename` must match one of these patterns; `*` matches any characters and `?` matches one. @example ["app-*.tar.gz"] */
  @Optional(ListOf(Text(1, 200), { min: 1, max: 50 })) fileNames?: string[];
  /**
   * IDs of the API keys, OAuth clients, workload trusts or users that can use the key. A user ID includes everything that acts on behalf of the user.
   * @example ["01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11"]
   */
  @Optional(ListOf(Text(1, 64), { min: 1, max: 200 })) callers?: string[];
  /** Restricts the key to workloads whose verified claims match all of these conditions, for example on the repository, the tag and the workflow. */
  @Optional(ListOf(ClaimConditionBody, { min: 1, max: 20 })) verified?: ClaimConditionBody[];
  @Optional(Nested(SigningHoursBody)) hours?: SigningHoursBody;
  @Optional(OneOf(TIMESTAMP_RULES, { example: 'required' })) timestamp?: (typeof TIMESTAMP_RULES)[number];
  /** Maximum number of requests per day (UTC). @example 500 */
  @Optional(Int(1, MAX_USES)) perDay?: number;
  /** Maximum number of requests over the key's lifetime. @example 100000 */
  @Optional(Int(1, MAX_USES)) lifetime?: number;
}
