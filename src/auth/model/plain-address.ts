import { ValidateBy } from 'class-validator';
import { nameFault } from '../../platform/text/plain-name.js';

/**
 * Letters, digits, and the signs of RFC 5321 section 4.1.2 (`atext`) that have no meaning for routing and make no link: others would make a second
 * recipient, or a link in a mail that names the account.
 */
const ADDRESS = /^[\p{L}\p{M}\p{N}.!#$&'*+=^_`{|}~-]{1,64}@[\p{L}\p{M}\p{N}.-]{1,190}$/u;

/** Whether a text is an email address that cannot be taken for another one. */
export function isPlainAddress(text: string): boolean {
  return ADDRESS.test(text) && nameFault(text) === undefined;
}

/** The field is an address that cannot be taken for another one. */
export function IsPlainAddress(): PropertyDecorator {
  return ValidateBy({
    name: 'isPlainAddress',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && isPlainAddress(value.trim()),
      defaultMessage: () =>
        '$property must be an email address without quotes, invisible characters or letters that look like others',
    },
  });
}
