import { registerDecorator, type ValidationOptions } from 'class-validator';

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
