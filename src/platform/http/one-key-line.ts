import { registerDecorator } from 'class-validator';
import { oneKeyLine } from '../../formats/ssh/key-line.js';

/** A public key as in a .pub file: one line. A line end behind it is no second one. */
export function OneKeyLine(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'oneKeyLine',
      target: target.constructor,
      propertyName: String(propertyName),
      options: { message: 'must be one line without control characters' },
      validator: { validate: (value: unknown) => typeof value === 'string' && oneKeyLine(value) !== undefined },
    });
}
