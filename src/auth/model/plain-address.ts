import { ValidateBy } from 'class-validator';
import { nameFault } from '../../platform/text/plain-name.js';

/**
 * ADDRESS accepts letters, digits, and the characters of RFC 5321 section 4.1.2 (`atext`) that have no meaning for routing and cannot form a link. Other
 * characters could add a second recipient, or put a link into an email that names the account.
 */
const ADDRESS = /^[\p{L}\p{M}\p{N}.!#$&'*+=^_`{|}~-]{1,64}@[\p{L}\p{M}\p{N}.-]{1,190}$/u;

/** isPlainAddress reports whether a string is an email address that cannot be mistaken for another address. */
export function isPlainAddress(text: string): boolean {
  return ADDRESS.test(text) && nameFault(text) === undefined;
}

/** IsPlainAddress validates that a property is an email address that cannot be mistaken for another address. */
export function IsPlainAddress(): PropertyDecorator {
  return ValidateBy({
    name: 'isPlainAddress',
    validator: {
      validate: (value: unknown) => typeof value === 'string' && isPlainAddress(value.trim()),
      defaultMessage: () =>
        '$property must be an email address without quotation marks, invisible characters or look-alike letters',
    },
  });
}
