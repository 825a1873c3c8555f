import { findKnownName, findSpelledName } from '../vocabularies/known-names.js';

/** MAX_WORDS is the number of words in the longest phrase of the vocabularies. */
const MAX_WORDS = 6;
const MIN_WORD_LENGTH = 4;
const MAX_LENGTH = 300;
const WORD = /[^\s()[\]{}<>'"`,;=]+/g;
/** Matches words that cannot be natural-language words (RS256, esp-gcm, 00-0F-AC:10). A single word is replaced only if the word matches this pattern. */
const IS_CODE = /\d|[-_:$]/;

interface Piece {
  readonly start: number;
  readonly end: number;
}

/** withPhrasesRead replaces each vocabulary phrase in a name with its meaning: `PKINIT DH group 2` becomes `PKINIT DH-1024`. */
export function withPhrasesRead(text: string): string {
  if (text.length > MAX_LENGTH) return text;
  const pieces = piecesOf(text);
  let read = '';
  let copied = 0;
  for (let at = 0; at < pieces.length;) {
    const found = phraseAt(text, pieces, at);
    if (found === undefined) {
      at += 1;
      continue;
    }
    read += `${text.slice(copied, found.start)}${found.means}`;
    copied = found.end;
    at += found.words;
  }
  return read + text.slice(copied);
}

function piecesOf(text: string): Piece[] {
  return [...text.matchAll(WORD)].map(({ index, 0: word }) => ({ start: index, end: index + word.length }));
}

interface Phrase extends Piece {
  readonly means: string;
  readonly words: number;
}

/** Returns the longest phrase that begins at the given word. */
function phraseAt(text: string, pieces: readonly Piece[], at: number): Phrase | undefined {
  const start = pieces[at]?.start ?? 0;
  for (let words = Math.min(MAX_WORDS, pieces.length - at); words > 0; words -= 1) {
    const end = pieces[at + words - 1]?.end ?? start;
    const phrase = text.slice(start, end);
    if (words === 1 && !(phrase.length >= MIN_WORD_LENGTH && IS_CODE.test(phrase))) continue;
    const means = findSpelledName(phrase)?.means;
    if (means !== undefined && means !== null) return { start, end, means, words };
  }
  return undefined;
}

/**
 * findByEndOfPath returns the meaning of the last part of a path, such as `SystemRandom` in `random.SystemRandom` or `crypto.SystemRandom`. Returns undefined
 * if no vocabulary contains the last part.
 */
export function findByEndOfPath(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  for (const { index, 0: separator } of text.matchAll(/::|->|[./#]/g)) {
    const rest = text.slice(index + separator.length);
    const isName = /[A-Z\d_.:/]/.test(rest) && rest.length >= MIN_WORD_LENGTH;
    const means = isName ? findKnownName(rest)?.means : undefined;
    if (means !== undefined && means !== null) return means;
  }
  return undefined;
}
