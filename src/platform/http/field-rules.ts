import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsDate, ValidateBy, registerDecorator, type ValidationOptions } from 'class-validator';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { oneKeyLine } from '../../formats/ssh/key-line.js';
import { nameFault } from '../text/plain-name.js';
import { publicKeyFault } from '../../formats/ssh/public-key.js';

/** Matches RFC 3339 section 5.6. A date without a time means the start of the day in UTC. PostgreSQL does not accept the year 0. */
const DATE_TIME = /^((?!0000)\d{4}-\d\d-\d\d)(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/i;

/** IsDateTime validates a date and time. Numbers are rejected, because they could mean seconds or milliseconds. */
export function IsDateTime(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => momentIn(value) ?? value),
    IsDate({ message: ({ property, value }) => `${property} must be ${momentWanted(value)}` }),
  );
}

/** Matches a time zone whose `+` was decoded as a space, because it was not encoded in the query string. */
const WITHOUT_PLUS = /^[^ ]{1,40} \d\d:\d\d$/;

function momentWanted(value: unknown): string {
  const wanted = 'an RFC 3339 date and time, such as 2027-01-31T00:00:00Z';
  const hasLostPlus = typeof value === 'string' && WITHOUT_PLUS.test(value);
  return hasLostPlus ? `${wanted}; in a URL, encode the + of the time zone as %2B` : wanted;
}

/** IsDay validates a calendar day, YYYY-MM-DD. */
export function IsDay(): PropertyDecorator {
  const isDay = (value: unknown) => typeof value === 'string' && value.length === 10 && momentIn(value) !== undefined;
  return ValidateBy({
    name: 'isDay',
    validator: { validate: isDay, defaultMessage: () => '$property must be a date in the format YYYY-MM-DD' },
  });
}

/** IsPlainName validates that a name cannot be mistaken for another name; see nameFault. */
export function IsPlainName(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isPlainName',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && nameFault(value) === undefined,
        defaultMessage: (found) => `$property ${nameFault(String(found?.value)) ?? 'must be a name'}`,
      },
    },
    options,
  );
}

/** Returns the time in a value; undefined for other values and for days such as 30 February, which JavaScript would convert to 2 March. */
function momentIn(value: unknown): Date | undefined {
  const day = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined || Number.isNaN(Date.parse(day))) return undefined;
  return new Date(day).toISOString().startsWith(day) ? new Date(value as string) : undefined;
}

/** JsonAtMost limits a free-form value by the length of its JSON text. */
export function JsonAtMost(characters: number, options?: ValidationOptions): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'jsonAtMost',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: `must have at most ${characters} characters when serialized as JSON`, ...options },
      validator: { validate: (value: unknown) => (JSON.stringify(value) ?? '').length <= characters },
    });
}

/** IsBase64Text validates padded base64 (RFC 4648 section 4) without characters that a decoder would skip. */
export function IsBase64Text(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isBase64Text',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: 'must be padded base64 (RFC 4648 section 4)' },
      validator: { validate: (value: unknown) => typeof value === 'string' && fromBase64(value) !== undefined },
    });
}

/**
 * WholeNumber converts text, such as a query parameter, to a whole number. Only digits are converted, so that a later rule rejects `1e1`, ` 7` or empty
 * text.
 */
export function WholeNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  );
}

/** OneKeyLine validates that a value is a single-line public key, as in a .pub file. A trailing line break is allowed. */
export function OneKeyLine(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'oneKeyLine',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: ({ value }) => publicKeyFault(typeof value === 'string' ? value : '\0') },
      validator: { validate: (value: unknown) => typeof value === 'string' && oneKeyLine(value) !== undefined },
    });
}
