import { Transform } from 'class-transformer';

/** Reads a text, such as a query parameter, as a whole number: plain digits only, so that `1e1`, ` 7` or nothing are refused by what checks the number. */
export function WholeNumber(): PropertyDecorator {
  return Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  );
}
