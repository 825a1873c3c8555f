import { registerDecorator } from 'class-validator';
import { Problem } from '../../platform/errors/problem.js';

const KEY = /^[a-zA-Z0-9](?:[a-zA-Z0-9._/-]{0,61}[a-zA-Z0-9])?$/;
const MAX_LABELS = 32;
const MAX_VALUE = 128;

/** Reports whether the value is a valid set of labels: up to 32 keys of letters, digits and `. _ - /`, each with a string of up to 128 characters. */
export function areLabels(value: unknown): value is Record<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= MAX_LABELS &&
    entries.every(([key, text]) => KEY.test(key) && typeof text === 'string' && text.length <= MAX_VALUE)
  );
}

export const IsLabels = (): PropertyDecorator => (target, propertyName) =>
  registerDecorator({
    name: 'labels',
    target: target.constructor,
    propertyName: propertyName as string,
    validator: {
      validate: areLabels,
      defaultMessage: () => `must have at most ${MAX_LABELS} keys, with values of at most ${MAX_VALUE} characters`,
    },
  });

/** Parses a selector such as `env:prod,tier` into labels that must match and keys that must be present. */
export function readSelector(text: string | undefined): { equal: Record<string, string>; present: string[] } {
  const equal: Record<string, string> = {};
  const present: string[] = [];
  for (const part of (text ?? '').split(',').filter((piece) => piece !== '')) {
    const colon = part.indexOf(':');
    const key = colon === -1 ? part : part.slice(0, colon);
    if (!KEY.test(key)) throw refusal();
    if (colon === -1) present.push(key);
    else equal[key] = part.slice(colon + 1);
  }
  return { equal, present };
}

function refusal(): Problem {
  const errors = [{ pointer: 'label', detail: 'must be key:value or key, separated by commas' }];
  return new Problem('malformed', 'request.invalid', 'label: must be key:value or key, separated by commas.', {
    errors,
  });
}
