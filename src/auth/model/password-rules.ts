import { Problem } from '../../platform/errors/problem.js';

export const MIN_PASSWORD_LENGTH = 12;
export const MAX_PASSWORD_LENGTH = 128;
/** Maximum length of a password as typed, in UTF-16 code units. A character can have several code units, such as a letter and its accent (NFD). */
export const MAX_TYPED_PASSWORD_LENGTH = 4 * MAX_PASSWORD_LENGTH;
/** Minimum number of other characters in a password that contains common words. */
const MIN_OTHER_CHARACTERS = 8;

/** Common words that are missing from `commonPasswords`, including the product name. */
const WORDS = ['passwort', 'motdepasse', 'administrator', 'changeme', 'welcome', 'sealwright'];
const RUNS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  '98765432109876543210',
];
/** Characters that commonly replace letters. */
const SIGNS: Readonly<Record<string, string>> = {
  '@': 'a',
  '4': 'a',
  '0': 'o',
  '1': 'i',
  '3': 'e',
  '5': 's',
  $: 's',
  '7': 't',
};

/** Rejects passwords that are too short, common, or derived from the email address. Character classes are not required (NIST SP 800-63B section 3.1.1.2). */
export async function assertGoodPassword(password: string, email: string): Promise<void> {
  const fault = faultOf(password.normalize('NFC'), email.toLowerCase(), await commonPasswords());
  if (fault === undefined) return;
  throw new Problem('refused', 'password.weak', `This password is not accepted: ${fault}.`, {
    errors: [{ pointer: '/password', detail: fault }],
  });
}

function faultOf(password: string, email: string, common: ReadonlySet<string>): string | undefined {
  const length = Array.from(password).length;
  if (length < MIN_PASSWORD_LENGTH) return `it must have at least ${MIN_PASSWORD_LENGTH} characters`;
  if (length > MAX_PASSWORD_LENGTH) return `it must have at most ${MAX_PASSWORD_LENGTH} characters`;
  const plain = password.toLowerCase();
  if (new Set(plain).size < 5) return 'it contains too few different characters';
  if (RUNS.some((run) => run.includes(plain))) return 'it is a keyboard sequence';
  if (namesIn(email).some((name) => plain.includes(name))) return 'it contains your email address or your name';
  const isWord = (text: string): boolean => common.has(text) || WORDS.includes(text);
  return isMadeOfWords(plain, isWord) ? 'it consists of common words' : undefined;
}

/**
 * Returns the email address, its local part, and the parts of the local part. Parts with fewer than four characters are omitted, because they occur in too many
 * words.
 */
function namesIn(email: string): string[] {
  const [local = ''] = email.split('@');
  return [email, local, ...local.split(/[._+-]/)].filter((name) => name.length >= 4);
}

/**
 * Reports whether the password is one word, a repeated word, or two words, even if characters are substituted for letters, or a few or predictable other
 * characters are added.
 */
function isMadeOfWords(plain: string, isWord: (text: string) => boolean): boolean {
  if (isWord(plain)) return true;
  const unmasked = Array.from(plain, (sign) => SIGNS[sign] ?? sign).join('');
  const rest = plain.replaceAll(/[a-z]/g, '');
  const isWorthless =
    rest.length < MIN_OTHER_CHARACTERS || RUNS.some((run) => run.includes(rest)) || new Set(rest).size < 4;
  const forms = [plain.replaceAll(/[^a-z0-9]/g, ''), unmasked.replaceAll(/[^a-z]/g, '')];
  if (isWorthless) forms.push(plain.replaceAll(/[^a-z]/g, ''));
  return forms.some((form) => form.length >= 4 && (isWord(repeatedIn(form)) || isTwoWords(form, isWord)));
}

/** Returns the shortest string of which `text` is a repetition. */
function repeatedIn(text: string): string {
  return text.slice(0, `${text}${text}`.indexOf(text, 1));
}

function isTwoWords(text: string, isWord: (text: string) => boolean): boolean {
  const cuts = Array.from({ length: Math.max(0, text.length - 7) }, (_, index) => index + 4);
  return cuts.some((cut) => isWord(text.slice(0, cut)) && isWord(text.slice(cut)));
}

let list: Promise<ReadonlySet<string>> | undefined;

/** Returns the fifty thousand most common passwords, in lower case. The list is loaded on first use, because few processes need the list. */
export function commonPasswords(): Promise<ReadonlySet<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']));
  return list;
}
