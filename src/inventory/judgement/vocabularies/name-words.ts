import { knownFamilies } from './families.js';
import { curveNames, findCurve } from './object-identifiers.js';
import wordsFile from './other-words.json' with { type: 'json' };

export type WordPurpose = 'signature' | 'encryption' | 'key-establishment';

/** Word is the meaning of a word in algorithm names. Sizes are in bits. */
export type Word =
  | {
      readonly kind: 'family';
      readonly family: string;
      readonly bits?: number;
      readonly curveBits?: number;
      readonly param?: string;
      readonly purpose?: WordPurpose;
    }
  | { readonly kind: 'curve'; readonly curveBits: number }
  | { readonly kind: 'mode'; readonly mode: string }
  | { readonly kind: 'padding'; readonly padding: string }
  | { readonly kind: 'purpose'; readonly purpose: WordPurpose }
  | { readonly kind: 'joiner' | 'noise' | 'password' | 'reduction' | 'rounds' };

const WORDS = new Map<string, Word>();
const { words } = wordsFile;
const listOf = (text: string) => text.split(' ');

for (const word of listOf(words.noise)) WORDS.set(word, { kind: 'noise' });
for (const word of listOf(words.joiners)) WORDS.set(word, { kind: 'joiner' });
for (const word of listOf(words.passwords)) WORDS.set(word, { kind: 'password' });
for (const word of listOf(words.reductions)) WORDS.set(word, { kind: 'reduction' });
for (const word of listOf(words.rounds)) WORDS.set(word, { kind: 'rounds' });
for (const mode of listOf(words.modes)) WORDS.set(mode, { kind: 'mode', mode });
for (const entry of listOf(words.paddings)) {
  const [word = '', padding = ''] = entry.split('=');
  WORDS.set(word, { kind: 'padding', padding });
}
for (const entry of listOf(words.purposes)) {
  const [word = '', purpose = ''] = entry.split('=');
  WORDS.set(word, { kind: 'purpose', purpose: purpose as WordPurpose });
}
for (const name of curveNames()) {
  const curveBits = findCurve(name)?.bits;
  if (curveBits !== undefined) WORDS.set(name, { kind: 'curve', curveBits });
}
// Families come last and take precedence: SM2 and BLS12-381 are also curves, but the family is more specific.
for (const [family, { words: own }] of knownFamilies())
  for (const entry of listOf(own)) {
    const [, word = '', bits, curveBits, param, purpose] =
      /^([^=@#:]+)(?:=(\d+))?(?:@(\d+))?(?:#(\d+))?(?::(.+))?$/.exec(entry) ?? [];
    WORDS.set(word, {
      kind: 'family',
      family,
      ...(bits === undefined ? {} : { bits: Number(bits) }),
      ...(curveBits === undefined ? {} : { curveBits: Number(curveBits) }),
      ...(param === undefined ? {} : { param }),
      ...(purpose === undefined ? {} : { purpose: purpose as WordPurpose }),
    });
  }

/** Branch is a node in a trie of words, keyed by character code. The trie finds all words that begin at a position in one pass. */
interface Branch {
  readonly next: Map<number, Branch>;
  word: Word | undefined;
}

const ROOT: Branch = { next: new Map(), word: undefined };
for (const [letters, word] of WORDS) {
  let branch = ROOT;
  for (let at = 0; at < letters.length; at += 1) {
    const code = letters.charCodeAt(at);
    let next = branch.next.get(code);
    if (next === undefined) branch.next.set(code, (next = { next: new Map(), word: undefined }));
    branch = next;
  }
  branch.word = word;
}

/**
 * eachWordAt calls `tell` for each word that begins at a position in a text, with the position after the word. The text must be lowercase and contain no
 * hyphens, spaces or other separators.
 */
export function eachWordAt(text: string, from: number, tell: (word: Word, to: number) => void): void {
  let branch: Branch | undefined = ROOT;
  for (let at = from; at < text.length; at += 1) {
    branch = branch.next.get(text.charCodeAt(at));
    if (branch === undefined) break;
    if (branch.word !== undefined) tell(branch.word, at + 1);
  }
}
