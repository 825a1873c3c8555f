/**
 * PLAIN_ADDRESS matches an email address whose characters can all be seen. An invisible one (Unicode Default_Ignorable_Code_Point), or a quoted
 * local part, would make a second account that people take for the first.
 */
export const PLAIN_ADDRESS = /^[^\s@"\p{C}\p{DI}]{1,64}@[^\s@"\p{C}\p{DI}]{1,190}$/u;

/** The message of a validator about PLAIN_ADDRESS. */
export const NOT_PLAIN = { message: 'must be an email address without quotes or invisible characters' };
