import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsDate, ValidateBy } from 'class-validator';

/** RFC 3339, section 5.6; a day alone is its first moment (UTC). There was no year 0, and PostgreSQL knows none. */
const DATE_TIME = /^((?!0000)\d{4}-\d\d-\d\d)(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))?$/i;

/** Reads a moment. Only texts are: a number is one of seconds to some and of milliseconds to others. */
export function IsDateTime(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => momentIn(value) ?? value),
    IsDate({ message: '$property must be a date and time as in RFC 3339, for example 2027-01-31T00:00:00Z' }),
  );
}

/** A day, YYYY-MM-DD, that is in the calendar. */
export function IsDay(): PropertyDecorator {
  const isDay = (value: unknown) => typeof value === 'string' && value.length === 10 && momentIn(value) !== undefined;
  return ValidateBy({
    name: 'isDay',
    validator: { validate: isDay, defaultMessage: () => '$property must be a day, YYYY-MM-DD' },
  });
}

/** Undefined also for the 30th of February, which JavaScript takes for the 2nd of March. */
function momentIn(value: unknown): Date | undefined {
  const day = typeof value === 'string' ? DATE_TIME.exec(value)?.[1] : undefined;
  if (day === undefined || Number.isNaN(Date.parse(day))) return undefined;
  return new Date(day).toISOString().startsWith(day) ? new Date(value as string) : undefined;
}
