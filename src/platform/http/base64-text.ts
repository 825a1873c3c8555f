import { registerDecorator } from 'class-validator';
import { fromBase64 } from '../../formats/encoding/base64.js';

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
