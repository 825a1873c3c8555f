import { ValidateBy, type ValidationOptions } from 'class-validator';
import { Problem } from '../platform/errors/problem.js';
import { type Field, field, ListOf, Text } from '../platform/http/fields/fields.js';
import type { Caller } from './caller.js';
import { containsInOrder } from './identity/claim-pattern.js';

/** KeyPatterns are names and patterns of signing keys. In a pattern, `*` matches any number of characters. Undefined or null means every key. */
export type KeyPatterns = readonly string[] | null | undefined;

/** KeyLimits is the part of a caller that limits the signing keys that the caller can use. */
export type KeyLimits = Pick<Caller, 'keys'> & Partial<Pick<Caller, 'kind'>>;

/** EVERY_KEY allows every key. EVERY_KEY applies to the service itself, and to calls that only verify signatures. */
export const EVERY_KEY: KeyLimits = {};

const MAX_PATTERNS = 200;
/** One more than the maximum length of a signing key's name, so that `*` can follow the longest name. */
const MAX_PATTERN_CHARACTERS = 64;

/** Matches the characters of signing key names and `*`. Other characters, such as uppercase letters, could never match a name. */
const KEY_PATTERN = /^[a-z0-9._*-]+$/;

/**
 * Reports whether the patterns include a signing key. The whole name must match, and an empty list includes no key. A name is never reused and never changes,
 * so a pattern without `*` always identifies the same key.
 */
export function includesKey(patterns: KeyPatterns, name: string): boolean {
  return patterns == null || patterns.some((pattern) => fits(name, pattern));
}

/**
 * Reports whether the outer patterns include every key that the inner patterns include. The `*` in an inner pattern is treated as a character that no key name
 * contains, so that only a `*` in an outer pattern matches the inner `*`.
 */
export function includesPatterns(outer: KeyPatterns, inner: KeyPatterns): boolean {
  if (outer == null) return true;
  return (inner ?? ['*']).every((pattern) => outer.some((wider) => wider === pattern || fits(pattern, wider)));
}

/**
 * Rejects a signing key that the caller cannot use.
 *
 * @param asked the name or ID that the caller specified, for the error message, so that an error about an ID does not reveal the key's name
 * @throws Problem 403 `workload-trust.key`, `credential.key`
 */
export function assertIncludesKey({ kind, keys }: KeyLimits, name: string, asked = name): void {
  if (includesKey(keys, name)) return;
  const isRun = kind === 'workload';
  const detail = `${isRun ? "this workload's trust" : 'this credential'} does not allow key "${asked}"`;
  const errors = [{ pointer: '/key', detail }];
  throw new Problem('forbidden', isRun ? 'workload-trust.key' : 'credential.key', `/key: ${detail}.`, { errors });
}

/**
 * Returns the reason why the caller cannot grant these patterns; undefined if the caller can grant them. A caller cannot grant keys that the caller cannot use.
 */
export function faultOfGrant({ keys }: KeyLimits, granted: KeyPatterns): string | undefined {
  if (includesPatterns(keys, granted)) return undefined;
  return `You cannot grant signing keys that you cannot use. Your own credential is limited to ${(keys ?? []).join(', ')}.`;
}

/** KeyPatternList is a list of names and patterns of signing keys. Items that cannot match a name are rejected. */
export function KeyPatternList(limits: { min?: number; nullable?: boolean; example: string[] }): Field {
  const pattern = Text(1, MAX_PATTERN_CHARACTERS);
  return ListOf(field([...pattern.rules, IsKeyPattern], pattern.schema), {
    max: MAX_PATTERNS,
    unique: true,
    ...limits,
  });
}

function IsKeyPattern(options?: ValidationOptions): PropertyDecorator {
  return ValidateBy(
    {
      name: 'isKeyPattern',
      validator: {
        validate: (value: unknown) => typeof value === 'string' && KEY_PATTERN.test(value),
        defaultMessage: () =>
          '$property must contain only the characters of signing key names (a-z, 0-9, ".", "_" and "-") and the wildcard "*"',
      },
    },
    options,
  );
}

function fits(name: string, pattern: string): boolean {
  return pattern.includes('*') ? containsInOrder(name, pattern.split(/\*+/)) : name === pattern;
}
