import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** Characters tried against the character sets of a pattern, after the characters in the pattern itself. */
const CANDIDATES = [
  ...Array.from(' aA0\n\t=/-_.:;,"\'\\<>()[]{}@#%&*+!?|~^$`\u0000\u0001é\u2028'),
  ...Array.from('bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ123456789\r\u00a0'),
  '\u{1f510}',
];
/** Character sets that are always included, regardless of the pattern, because they delimit words and white space. */
const ALWAYS = ['\\w', '\\s'];
const MAX_VARIANTS = 5;
/** Indexes of the first two strings and the last string in a list that begins with the characters contained in most sets. */
const VARIANTS = [0, 1, -1];
const MAX_PUMPS = 160;
const MAX_NEIGHBOURS = 6;
/** Suffixes that make a string match or fail to match at the end. */
const ENDS = ['', '\u0001', 'a\n!'];
/** Text before the repeated part, which prevents start anchors from matching. */
const ELSEWHERE = '\u0001';

type SetNode = AST.CharacterClass | AST.CharacterSet | AST.ExpressionCharacterClass;
/** Part of a pattern. A run of adjacent characters is one part. */
type Part = string | AST.Element;

interface Members {
  readonly raw: string;
  readonly has: ReadonlySet<string>;
}

interface Pump {
  readonly lead: string;
  readonly text: string;
}

/** Generates strings that cause costly backtracking: repeated parts of the pattern, preceded by a string that matches the preceding parts. */
class PumpMaker {
  private readonly sets: readonly Members[];
  private readonly typical: readonly string[];
  private readonly known = new Map<AST.Element, readonly string[]>();
  private readonly pumps = new Map<string, Pump>();

  constructor(
    private readonly pattern: AST.Pattern,
    flags: string,
  ) {
    const alphabet = [...new Set([...namedIn(pattern), ...CANDIDATES])];
    const raws = new Set([...ALWAYS, ...[...nodesOf(pattern)].filter(isSet).map(({ raw }) => raw)]);
    this.sets = [...raws].map((raw) => {
      const one = new RegExp(`^${raw}$`, flags.replaceAll(/[gym]/g, ''));
      return { raw, has: new Set(alphabet.filter((character) => one.test(character))) };
    });
    this.typical = typicalOf(this.sets, alphabet);
  }

  make(): Pump[] {
    for (const character of this.typical) for (const lead of ['', ELSEWHERE]) this.add(lead, character);
    for (const { elements } of this.pattern.alternatives) this.visit(elements, '');
    return [...this.pumps.values()];
  }

  private add(lead: string, text: string): void {
    if (text !== '' && this.pumps.size < MAX_PUMPS) this.pumps.set(`${lead}\n${text}`, { lead, text });
  }

  /** Repeats each part and each sequence of parts, alone and after the preceding parts. */
  private visit(elements: readonly AST.Element[], before: string): void {
    const parts = partsOf(elements);
    let lead = before;
    for (const [from, part] of parts.entries()) {
      for (const text of this.textsOf(part)) for (const start of new Set(['', lead])) this.add(start, text);
      for (const { elements: inner } of innerOf(part)) this.visit(inner, lead);
      for (let to = from + 2; to <= Math.min(parts.length, from + MAX_NEIGHBOURS); to += 1)
        for (const variant of VARIANTS) {
          const text = this.joined(parts.slice(from, to), variant);
          for (const start of new Set(['', lead])) this.add(start, text);
        }
      lead += this.nth(part, 0);
    }
  }

  private joined(parts: readonly Part[], variant: number): string {
    return parts.map((part) => this.nth(part, variant)).join('');
  }

  private nth(part: Part, index: number): string {
    const texts = this.textsOf(part);
    return texts.at(index < texts.length ? index : 0) ?? '';
  }

  /** Returns a few short strings that match the part. */
  private textsOf(part: Part): readonly string[] {
    if (typeof part === 'string') return [part];
    const texts = this.known.get(part) ?? fewOf([...new Set(this.match(part))]);
    this.known.set(part, texts);
    return texts;
  }

  private match(node: AST.Element): readonly string[] {
    if (node.type === 'Character') return [String.fromCodePoint(node.value)];
    if (isSet(node)) {
      const own = this.sets.find(({ raw }) => raw === node.raw);
      return this.typical.filter((character) => own?.has.has(character) === true);
    }
    if (node.type === 'Quantifier')
      return this.textsOf(node.element).map((text) => text.repeat(Math.max(1, Math.min(node.min, 100))));
    if (node.type !== 'Group' && node.type !== 'CapturingGroup') return [''];
    return node.alternatives.flatMap(({ elements }) => VARIANTS.map((nth) => this.joined(partsOf(elements), nth)));
  }
}

function fewOf(texts: readonly string[]): readonly string[] {
  return texts.length <= MAX_VARIANTS ? texts : [...texts.slice(0, MAX_VARIANTS - 1), ...texts.slice(-1)];
}

function partsOf(elements: readonly AST.Element[]): Part[] {
  const parts: Part[] = [];
  for (const element of elements) {
    const last = parts.at(-1);
    if (element.type !== 'Character') parts.push(element);
    else if (typeof last === 'string') parts[parts.length - 1] = last + String.fromCodePoint(element.value);
    else parts.push(String.fromCodePoint(element.value));
  }
  return parts;
}

/** Returns one character for each combination of sets that contain the character. Characters in most sets come first. */
function typicalOf(sets: readonly Members[], alphabet: readonly string[]): string[] {
  const byMembership = new Map<string, { character: string; count: number }>();
  for (const character of alphabet) {
    const membership = sets.map(({ has }) => Number(has.has(character)));
    const key = membership.join('');
    const count = membership.reduce((sum, one) => sum + one, 0);
    if (!byMembership.has(key)) byMembership.set(key, { character, count });
  }
  return [...byMembership.values()].sort((a, b) => b.count - a.count).map(({ character }) => character);
}

function isSet(node: AST.Node): node is SetNode {
  return node.type === 'CharacterClass' || node.type === 'CharacterSet' || node.type === 'ExpressionCharacterClass';
}

function* nodesOf(node: AST.Node): Generator<AST.Node> {
  yield node;
  if (node.type === 'Quantifier') yield* nodesOf(node.element);
  else if (node.type === 'Alternative') for (const element of node.elements) yield* nodesOf(element);
  else if (node.type === 'Pattern' || node.type === 'Group' || node.type === 'CapturingGroup' || isLook(node))
    for (const alternative of node.alternatives) yield* nodesOf(alternative);
}

function isLook(node: AST.Node): node is AST.LookaroundAssertion {
  return node.type === 'Assertion' && (node.kind === 'lookahead' || node.kind === 'lookbehind');
}

function innerOf(part: Part): readonly AST.Alternative[] {
  if (typeof part === 'string') return [];
  if (part.type === 'Quantifier') return innerOf(part.element);
  return part.type === 'Group' || part.type === 'CapturingGroup' || isLook(part) ? part.alternatives : [];
}

function namedIn(pattern: AST.Pattern): string[] {
  return [...nodesOf(pattern)].flatMap((node) => {
    const named = node.type === 'CharacterClass' ? node.elements : [node];
    return named.flatMap((one) => {
      if (one.type === 'Character') return [String.fromCodePoint(one.value)];
      return one.type === 'CharacterClassRange' ? [String.fromCodePoint(one.min.value)] : [];
    });
  });
}

/** Returns functions that generate attack strings of a given length in UTF-16 code units, from the pattern's own alphabet. */
export function attacksOn({ source, flags }: RegExp): ((length: number) => string)[] {
  const options = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') };
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, options);
  return new PumpMaker(pattern, flags).make().flatMap(({ lead, text }) =>
    ENDS.map((end) => (length: number) => {
      const times = Math.floor((length - lead.length - end.length) / text.length);
      return `${lead}${text.repeat(Math.max(0, times))}${end}`;
    }),
  );
}
