import { truncate } from '../../platform/text/truncate.js';
import { matchesHostPattern } from '../../formats/ssh/host-pattern.js';

/** ConfigBlock is a block of ssh_config(5) for the hosts that match its patterns. */
export interface ConfigBlock {
  /** `host` or `match`. The patterns of a `match` block come from its criteria `host` or `originalhost`. */
  readonly kind: 'host' | 'match';
  readonly line: number;
  readonly patterns: readonly string[];
  /** First value of each keyword, by lowercase keyword. */
  readonly settings: Map<string, string>;
}

export interface ConfigFault {
  readonly line: number;
  readonly name: string;
  readonly detail: string;
}

/** Keywords that determine how a host is reached. A block that contains one of these keywords must not be omitted silently. */
const PLACES = ['hostname', 'port', 'proxyjump', 'proxycommand'];
const NO_PATTERNS: readonly string[] = [];

/** Splits a file into blocks. Settings before the first block apply to every host. */
export function readBlocks(text: string): { blocks: ConfigBlock[]; faults: ConfigFault[] } {
  const blocks: ConfigBlock[] = [{ kind: 'match', line: 1, patterns: ['*'], settings: new Map() }];
  const faults: ConfigFault[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const line = index + 1;
    const [keyword = '', ...words] = wordsOf(raw);
    const key = keyword.toLowerCase();
    const block = blocks.at(-1) as ConfigBlock;
    if (key === '') continue;
    if (key === 'host') blocks.push({ kind: 'host', line, patterns: words, settings: new Map() });
    else if (key === 'match') blocks.push({ kind: 'match', line, patterns: patternsOf(words), settings: new Map() });
    else if (key === 'include')
      faults.push({
        line,
        name: truncate(`Include ${words.join(' ')}`, 100),
        detail: 'includes another file that is not part of the import: import that file as well',
      });
    else if (PLACES.includes(key) && block.patterns === NO_PATTERNS)
      faults.push({
        line,
        name: `Match, line ${block.line}`,
        detail: `${keyword} depends on the user and time of the connection: move the setting to a Host block`,
      });
    else if (!block.settings.has(key)) block.settings.set(key, words.join(' '));
  }
  return { blocks, faults };
}

/** Reports whether a block applies to a name. As in ssh, at least one pattern must match, and no negated pattern may match. */
export function matchesBlock({ patterns }: ConfigBlock, name: string): boolean {
  let isMatched = false;
  for (const pattern of patterns) {
    const isNegated = pattern.startsWith('!');
    if (!matchesHostPattern(isNegated ? pattern.slice(1) : pattern, name)) continue;
    if (isNegated) return false;
    isMatched = true;
  }
  return isMatched;
}

/** Parses `Match all`, `Match host a,b`, `Match host=a,b`, and the same forms with `originalhost`. Other criteria cannot be evaluated outside ssh. */
function patternsOf(words: readonly string[]): readonly string[] {
  const [criterion = '', list = '', ...rest] = words.flatMap((word) => word.split(/=(.*)/s, 2));
  if (criterion.toLowerCase() === 'all' && words.length === 1) return ['*'];
  const isHost = ['host', 'originalhost'].includes(criterion.toLowerCase()) && rest.length === 0 && list !== '';
  return isHost ? list.split(',') : NO_PATTERNS;
}

/** Splits `KEYWORD value` and `KEYWORD=value`, including values in double quotes. A comment starts at the beginning of a line or word. */
function wordsOf(raw: string): string[] {
  const line = raw.trim();
  if (line.startsWith('#')) return [];
  const end = line.search(/[\s=]/);
  if (end === -1) return [line];
  const rest = line.slice(end).replace(/^\s*=?\s*/, '');
  const words = [...rest.matchAll(/"([^"\n]*)"|([^\s"]+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const comment = words.findIndex((word) => word.startsWith('#'));
  return [line.slice(0, end), ...(comment === -1 ? words : words.slice(0, comment))];
}
