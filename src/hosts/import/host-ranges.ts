import { isIPv6 } from 'node:net';
import { ImportBudget } from './import-result.js';
import { truncate } from '../../platform/text/truncate.js';

const LETTER = /^[a-z]$/i;
const NUMBER = /^\d{1,9}$/;

/** RangeFault is a fault in a pattern. `column` is its offset in the pattern, starting at 0. */
export interface RangeFault {
  readonly detail: string;
  readonly column: number;
}

/**
 * expandRanges expands `web[01:20].example.com`, `db[a:f]` and `x[0:10:2]`, including several ranges in one name (Ansible's "adding ranges of hosts"). Each
 * resulting name uses one step of the budget. A name without a range, or an IPv6 address in brackets, is returned unchanged.
 */
export function expandRanges(pattern: string, budget: ImportBudget): string[] | RangeFault {
  let names = [''];
  for (let at = 0; at < pattern.length;) {
    const open = pattern.indexOf('[', at);
    const close = open === -1 ? -1 : pattern.indexOf(']', open);
    const literal = pattern.slice(at, open === -1 ? undefined : open);
    if (open !== -1 && close === -1) return { detail: 'contains an unclosed range', column: open };
    const inner = open === -1 ? '' : pattern.slice(open + 1, close);
    const parts = open === -1 ? [''] : isIPv6(inner.replace(/%.*/, '')) ? [`[${inner}]`] : partsOf(inner, budget);
    if (parts === undefined)
      return { detail: `[${truncate(inner, 40)}] is not a range such as [01:20] or [a:f]`, column: open };
    budget.spend(names.length * parts.length);
    names = names.flatMap((name) => parts.map((part) => `${name}${literal}${part}`));
    at = open === -1 ? pattern.length : close + 1;
  }
  return names;
}

/** Returns the values of a range, or undefined if the text is not a range or the range is empty. */
function partsOf(inner: string, budget: ImportBudget): string[] | undefined {
  const [from = '', to = '', step = '1', ...rest] = inner.split(':');
  if (rest.length > 0 || !NUMBER.test(step) || Number(step) < 1) return undefined;
  const isLetters = LETTER.test(from) && LETTER.test(to);
  const isNumbers = (from === '' || NUMBER.test(from)) && NUMBER.test(to);
  if (!isLetters && !isNumbers) return undefined;
  const [first, last] = isLetters ? [from.charCodeAt(0), to.charCodeAt(0)] : [Number(from), Number(to)];
  const size = Math.floor((last - first) / Number(step)) + 1;
  if (size < 1) return undefined;
  budget.spend(size);
  return Array.from({ length: size }, (_, i) => first + i * Number(step)).map((at) =>
    isLetters ? String.fromCharCode(at) : String(at).padStart(from.length, '0'),
  );
}
