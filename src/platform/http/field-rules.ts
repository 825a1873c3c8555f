import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsDate, ValidateBy, registerDecorator, type ValidationOptions } from 'class-validator';
import { fromBase64 } from '../../formats/encoding/base64.js';
import { oneKeyLine } from '../../formats/ssh/key-line.js';
import { nameFault } from '../text/plain-name.js';
import { publicKeyFault } from '../../formats/ssh/public-key.js';

/** RFC 3339, section 5.6; a day alone is its first moment (UTC). There was no year 0, and PostgreSQL knows none. */
const DATE_TIME = /^((?!0000)\d{4}-\d\d-\d\d)(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/i;

/** Reads a moment. Only texts are: a number is one of seconds to some and of milliseconds to others. */
export function IsDateTime(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => momentIn(value) ?? value),
    IsDate({ message: ({ property, value }) => `${property} must be ${momentWanted(value)}` }),
  );
}

/** What a `+` becomes in the query of an address, unless it is encoded. */
const WITHOUT_PLUS = /^[^ ]{1,40} \d\d:\d\d$/;

function momentWanted(value: unknown): string {
  const wanted = 'a date and time as in RFC 3339, for example 2027-01-31T00:00:00Z';
  const hasLostPlus = typeof value === 'string' && WITHOUT_PLUS.test(value);
  return hasLostPlus ? `${wanted}; in an address, write %2B for the + of its zone` : wanted;
}

/** A day, YYYY-MM-DD, that is in the calendar. */
export function IsDay(): PropertyDecorator {
  const isDay = (value: unknown) => typeof value === 'string' && value.length === 10 && momentIn(value) !== undefined;
  return ValidateBy({
    name: 'isDay',
    validator: { validate: isDay, defaultMessage: () => '$property must be a day, YYYY-MM-DD' },
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

/** Undefined also for the 30th of February, which JavaScript takes for the 2nd of March. */
function momentIn(value: unknown): Date | undefined {
  const day = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined || Number.isNaN(Date.parse(day))) return undefined;
  return new Date(day).toISOString().startsWith(day) ? new Date(value as string) : undefined;
}

/** Bounds a free-form value by the length of its JSON text. */
export function JsonAtMost(characters: number, options?: ValidationOptions): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'jsonAtMost',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: `must not be longer than ${characters} characters of JSON`, ...options },
      validator: { validate: (value: unknown) => (JSON.stringify(value) ?? '').length <= characters },
    });
}

/** The text is base64 (RFC 4648 section 4), padded, with nothing in it that a decoder would have to skip. */
export function IsBase64Text(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isBase64Text',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: 'must be base64 (RFC 4648 section 4), with padding' },
      validator: { validate: (value: unknown) => typeof value === 'string' && fromBase64(value) !== undefined },
    });
}

/** Reads a text, such as a query parameter, as a whole number: plain digits only, so that `1e1`, ` 7` or nothing are refused by what checks the number. */
export function WholeNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  );
}

/** A public key as in a .pub file: one line. A line end behind it is no second one. */
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
