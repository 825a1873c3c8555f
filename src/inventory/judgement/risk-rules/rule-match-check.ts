import { Problem } from '../../../platform/errors/problem.js';
import { isMembers } from '../../model/json.js';
import type { RuleMatch } from '../../model/rule-set.js';
import { truncate } from '../../../platform/text/truncate.js';

const LISTS = [
  'family',
  'notFamily',
  'purpose',
  'usage',
  'notUsage',
  'mode',
  'padding',
  'hash',
  'hybrid',
  'protocol',
  'kex',
  'hostkey',
];
const LISTS_OR_NULL = ['param', 'version'];
const RANGES = ['bits', 'curveBits'];
const FLAGS = ['selfSignedRoot'];
const FLAGS_OR_LISTS = ['kePq'];
const NAMES = ['material', 'certificate', 'quality', 'suite'];
const MAX_VALUES = 200;

/**
 * checkedMatch validates the conditions of a rule. Conditions that are evaluated in code, and patterns for cipher suites, must occur in the built-in rules.
 *
 * @throws Problem 400 `request.invalid` with a pointer
 */
export function checkedMatch(match: unknown, known: ReadonlySet<string>): RuleMatch {
  if (!isMembers(match) || Object.keys(match).length === 0) throw fault('', 'must contain a condition');
  for (const [name, value] of Object.entries(match)) {
    const detail = faultOf(name, value, known);
    if (detail !== undefined) throw fault(`/${truncate(name, 64)}`, detail);
  }
  return match;
}

interface Kind {
  readonly names: readonly string[];
  readonly fits: (value: unknown) => boolean;
  readonly detail: string;
}

const KINDS: readonly Kind[] = [
  { names: LISTS, fits: isTexts, detail: `must be a list of at most ${MAX_VALUES} strings` },
  {
    names: LISTS_OR_NULL,
    fits: (value) => value === null || isTexts(value),
    detail: `must be a list of at most ${MAX_VALUES} strings`,
  },
  { names: RANGES, fits: (value) => value === null || isRange(value), detail: 'must be [minimum, maximum] or null' },
  { names: ['notBits'], fits: isNumbers, detail: 'must be a list of numbers' },
  { names: FLAGS_OR_LISTS, fits: isFlag, detail: 'must be true, false or a list of true, false and null' },
  { names: FLAGS, fits: (value) => typeof value === 'boolean', detail: 'must be true or false' },
];

function faultOf(name: string, value: unknown, known: ReadonlySet<string>): string | undefined {
  const kind = KINDS.find(({ names }) => names.includes(name));
  if (kind !== undefined) return kind.fits(value) ? undefined : kind.detail;
  if (!NAMES.includes(name)) return 'is not a rule condition';
  return known.has(`${name} ${String(value)}`) ? undefined : 'must be a value that a built-in rule uses';
}

function isTexts(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length <= MAX_VALUES &&
    value.every((text) => typeof text === 'string' && text.length <= 200)
  );
}

function isFlag(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  return Array.isArray(value) && value.length <= 3 && value.every((one) => one === null || typeof one === 'boolean');
}

function isNumbers(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAX_VALUES && value.every((number) => Number.isInteger(number));
}

function isRange(value: unknown): boolean {
  return isNumbers(value) && (value as number[]).length === 2;
}

function fault(pointer: string, detail: string): Problem {
  const place = `/match${pointer}`;
  return new Problem('malformed', 'request.invalid', `${place}: ${detail}.`, { errors: [{ pointer: place, detail }] });
}
