import { truncate } from '../../platform/text/truncate.js';
import { type Word, wordsAt } from '../vocabularies/word-book.js';

/** A part of a name. `list` stands between names that are given one beside the other. */
export type NameToken =
  | Word
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'unknown'; readonly text: string }
  | { readonly kind: 'list' };

const LONGEST_NAME = 300;
const WORD_COST = 10;
/** A word that goes on behind a hyphen, as in SHA-256, is likelier two words than one. */
const GAP_COST = 4;
/** A word that begins or ends within letters, as in SHA256withRSA. */
const GLUE_COST = 5;
const UNKNOWN_COST = 60;
/** Words so short are read only where they stand alone: "ec" is no part of "sector". */
const SHORTEST_GLUED_WORD = 3;

/** The letters and digits of a name, and where its parts begin. */
interface Letters {
  readonly text: string;
  /** By place: a part begins there, as letter case, digits or a separator tell. */
  readonly begins: readonly boolean[];
  /** By place: a separator stands before it. */
  readonly separated: readonly boolean[];
}

interface Step {
  readonly cost: number;
  readonly from: number;
  readonly token: NameToken;
}

/** Cuts a name into known words, numbers and what is left over, at the least cost: as few words as possible, and nothing left over if it can be. */
export function tokensOf(name: string): NameToken[] {
  const tokens: NameToken[] = [];
  for (const part of truncate(name, LONGEST_NAME).split(/[,;|]| or /)) {
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
    // One letter stays one: a few capitals have two small ones.
    text += character.toLowerCase().charAt(0);
    gap = false;
    before = character;
  }
  begins.push(true);
  separated.push(true);
  return { text, begins, separated };
}

/** A plus belongs to a word only at its end, as in SPHINCS+: elsewhere it stands between two. */
function isPartOfWord(part: string, index: number, character: string): boolean {
  if (/[\p{L}\p{N}]/u.test(character)) return true;
  return character === '+' && /[a-z]/i.test(part[index - 1] ?? '') && !/[a-z0-9]/i.test(part[index + 1] ?? '');
}

function isBoundary(before: string, here: string, after: string): boolean {
  if (isDigit(before) !== isDigit(here)) return true;
  if (!isUpper(here)) return false;
  return !isUpper(before) || /[a-z]/.test(after);
}

const isDigit = (character: string) => character >= '0' && character <= '9';
const isUpper = (character: string) => character >= 'A' && character <= 'Z';

function cut(letters: Letters): NameToken[] {
  const { text } = letters;
  const best: (Step | undefined)[] = [{ cost: 0, from: 0, token: { kind: 'noise' } }];
  for (let from = 0; from < text.length; from += 1) {
    const reached = best[from];
    if (reached === undefined) continue;
    for (const step of stepsFrom(letters, from)) {
      const cost = reached.cost + step.cost;
      if (cost < (best[step.to]?.cost ?? Infinity)) best[step.to] = { cost, from, token: step.token };
    }
  }
  const tokens: NameToken[] = [];
  for (let at = text.length; at > 0;) {
    const step = best[at];
    if (step === undefined) return [{ kind: 'unknown', text }];
    tokens.unshift(step.token);
    at = step.from;
  }
  return tokens;
}

interface NextStep {
  readonly to: number;
  readonly cost: number;
  readonly token: NameToken;
}

function stepsFrom(letters: Letters, from: number): NextStep[] {
  const { text, begins, separated } = letters;
  const steps: NextStep[] = [];
  const isInNumber = from > 0 && !separated[from] && isDigit(text[from - 1] ?? '') && isDigit(text[from] ?? '');
  if (!isInNumber) for (const { to, word } of wordsAt(text, from)) steps.push(...wordStep(letters, { from, to, word }));
  if (begins[from] === true) {
    const end = begins.indexOf(true, from + 1);
    const piece = text.slice(from, end);
    if (/^\d+$/.test(piece)) steps.push({ to: end, cost: WORD_COST, token: { kind: 'number', value: Number(piece) } });
    else steps.push({ to: end, cost: UNKNOWN_COST + piece.length, token: { kind: 'unknown', text: piece } });
  }
  return steps;
}

function wordStep(
  { text, begins, separated }: Letters,
  { from, to, word }: { from: number; to: number; word: Word },
): NextStep[] {
  const cutsNumber = !separated[to] && isDigit(text.charAt(to - 1)) && isDigit(text.charAt(to));
  if (cutsNumber) return [];
  const isFree = begins[from] === true && begins[to] === true;
  if (!isFree && to - from < SHORTEST_GLUED_WORD) return [];
  const glued = (begins[from] === true ? 0 : GLUE_COST) + (begins[to] === true ? 0 : GLUE_COST);
  let gaps = 0;
  for (let at = from + 1; at < to; at += 1) if (separated[at] === true) gaps += 1;
  // "CCMP-256" holds no P-256.
  if (gaps > 0 && !isFree) return [];
  return [{ to, cost: WORD_COST + gaps * GAP_COST + glued, token: word }];
}
