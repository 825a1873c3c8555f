import { truncate } from '../../../platform/text/truncate.js';
import { eachWordAt, type Word } from '../vocabularies/name-words.js';

/** NameToken is a part of a name. `list` is a separator between the items of a list. */
export type NameToken =
  | Word
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'unknown'; readonly text: string }
  | { readonly kind: 'list' };

const MAX_NAME_LENGTH = 300;
/** Matches a KEM combiner with its arguments, as in QSF-KEM(ML-KEM-768,P-256). The commas separate the parts of one algorithm. */
const COMBINED = /KEM\([^()]{1,80}\)/g;
const asOne = (combined: string) => combined.replaceAll(',', '+');
const WORD_COST = 10;
/** GAP_COST is the cost of a word that continues after a hyphen, as in SHA-256. A hyphen more often separates two words. */
const GAP_COST = 4;
/** GLUE_COST is the cost of a word that begins or ends between letters, as in SHA256withRSA. */
const GLUE_COST = 5;
const UNKNOWN_COST = 60;
/** MIN_GLUED_WORD_LENGTH is the minimum length of a word that is recognized between letters. Shorter words are not recognized: "ec" in "sector". */
const MIN_GLUED_WORD_LENGTH = 3;

/** Letters contains the letters and digits of a name, and the positions at which the parts of the name begin. */
interface Letters {
  readonly text: string;
  /** For each position, whether a part begins there, as indicated by letter case, a digit or a separator. */
  readonly begins: readonly boolean[];
  /** For each position, whether a separator precedes the position. */
  readonly separated: readonly boolean[];
}

interface Step {
  readonly cost: number;
  readonly from: number;
  readonly token: NameToken;
}

/**
 * tokensOf splits a name into known words, numbers and unrecognized parts at the lowest cost. The cost increases with the number of words and the number of
 * unrecognized parts.
 */
export function tokensOf(name: string): NameToken[] {
  const tokens: NameToken[] = [];
  for (const part of truncate(name, MAX_NAME_LENGTH)
    .replaceAll(COMBINED, asOne)
    .split(/[,;|]| or /)) {
    if (tokens.length > 0) tokens.push({ kind: 'list' });
    tokens.push(...cut(lettersOf(part)));
  }
  return tokens;
}

function lettersOf(part: string): Letters {
  const begins: boolean[] = [];
  const separated: boolean[] = [];
  let text = '';
  let gap = true;
  let before = '';
  for (let index = 0; index < part.length; index += 1) {
    const character = part.charAt(index);
    if (!isPartOfWord(part, index, character)) {
      gap = true;
      continue;
    }
    begins.push(gap || isBoundary(before, character, part[index + 1] ?? ''));
    separated.push(gap);
    // Some capital letters have two lowercase letters. Only the first letter is used, so that the length does not change.
    text += character.toLowerCase().charAt(0);
    gap = false;
    before = character;
  }
  begins.push(true);
  separated.push(true);
  return { text, begins, separated };
}

/** Reports whether a character is part of a word. A plus sign is part of a word only at the end, as in SPHINCS+. Elsewhere, a plus sign separates words. */
function isPartOfWord(part: string, index: number, character: string): boolean {
  if (isLetterOrDigit(character)) return true;
  return character === '+' && isLetter(part.charAt(index - 1)) && !isLetterOrDigit(part.charAt(index + 1));
}

function isBoundary(before: string, here: string, after: string): boolean {
  if (isDigit(before) !== isDigit(here)) return true;
  if (!isUpper(here)) return false;
  return !isUpper(before) || isLower(after);
}

const isDigit = (character: string) => character >= '0' && character <= '9';
const isUpper = (character: string) => character >= 'A' && character <= 'Z';
const isLower = (character: string) => character >= 'a' && character <= 'z';
const isLetter = (character: string) => isLower(character) || isUpper(character);
const isLetterOrDigit = (character: string) =>
  isLetter(character) || isDigit(character) || (character >= '\u0080' && /[\p{L}\p{N}]/u.test(character));

/** Finds the cheapest path to each position of the text, and returns the tokens on the path to the end. */
function cut(letters: Letters): NameToken[] {
  const { text } = letters;
  const best: (Step | undefined)[] = [{ cost: 0, from: 0, token: { kind: 'noise' } }];
  for (let from = 0; from < text.length; from += 1) {
    const reached = best[from];
    if (reached === undefined) continue;
    const step = (token: NameToken, to: number, more: number) => {
      const cost = reached.cost + more;
      if (cost < (best[to]?.cost ?? Infinity)) best[to] = { cost, from, token };
    };
    if (!isInNumber(letters, from))
      eachWordAt(text, from, (word, to) => {
        const cost = costOfWord(letters, from, to);
        if (cost !== undefined) step(word, to, cost);
      });
    if (letters.begins[from] === true) stepOverPiece(letters, from, step);
  }
  const tokens: NameToken[] = [];
  for (let at = text.length; at > 0;) {
    const step = best[at];
    if (step === undefined) return [{ kind: 'unknown', text }];
    tokens.push(step.token);
    at = step.from;
  }
  return tokens.reverse();
}

/** Steps over a number, or over letters that are not a known word. */
function stepOverPiece(
  { text, begins }: Letters,
  from: number,
  step: (token: NameToken, to: number, cost: number) => void,
): void {
  const to = begins.indexOf(true, from + 1);
  const piece = text.slice(from, to);
  if (isDigit(piece.charAt(0)) && /^\d+$/.test(piece)) step({ kind: 'number', value: Number(piece) }, to, WORD_COST);
  else step({ kind: 'unknown', text: piece }, to, UNKNOWN_COST + piece.length);
}

function isInNumber({ text, separated }: Letters, at: number): boolean {
  return at > 0 && separated[at] !== true && isDigit(text.charAt(at - 1)) && isDigit(text.charAt(at));
}

/** Returns the cost of a word, or undefined if the letters are not a separate word. */
function costOfWord(letters: Letters, from: number, to: number): number | undefined {
  const { begins, separated } = letters;
  if (isInNumber(letters, to)) return undefined;
  const isFree = begins[from] === true && begins[to] === true;
  if (!isFree && to - from < MIN_GLUED_WORD_LENGTH) return undefined;
  const glued = (begins[from] === true ? 0 : GLUE_COST) + (begins[to] === true ? 0 : GLUE_COST);
  let gaps = 0;
  for (let at = from + 1; at < to; at += 1) if (separated[at] === true) gaps += 1;
  // "CCMP-256" does not contain P-256.
  return gaps > 0 && !isFree ? undefined : WORD_COST + gaps * GAP_COST + glued;
}
