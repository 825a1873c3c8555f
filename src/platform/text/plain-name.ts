/** Characters without a visible glyph: controls, format characters, fillers, U+2800 and U+FFFC; also the replacement character U+FFFD. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufffc\ufffd]/u;
/**
 * White space that makes a name look like another name: leading, trailing or repeated white space, and any white space other than the plain space.
 */
const ODD_BLANKS = /^\s|\s$|\s\s|[^\S ]/u;
const WORD = /[\p{L}\p{M}\p{Nd}]+/gu;
const LATIN = /\p{Script=Latin}/u;
/**
 * Characters that must not occur in a word with Latin letters (Unicode Technical Standard 39, "highly restrictive"). East Asian scripts, marks and ASCII digits
 * are allowed.
 */
const NOT_BESIDE_LATIN =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}]|(?![0-9])\p{Nd}/u;
/** Scripts with many letters that look like letters of another script. */
const ALIKE = [/\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u, /\p{Script=Cherokee}/u];
/**
 * Stacked marks, strokes through letters, a dot above a letter that already has a dot, and phonetic letters that look like plain letters. Ordinary words
 * can stack marks of one script, such as the vowel and tone of a Thai syllable. Marks that all scripts share are not stacked in ordinary words, except in
 * Arabic.
 */
const ODD_LETTERS =
  /(?:(?![\u064b-\u065f\u0670])\p{Script=Inherited}){2}|\p{M}{5}|[\u0334-\u0338\u20d0-\u20f0]|\p{Soft_Dotted}\u0307|[\u0250-\u02af\u1d00-\u1dbf]/u;
/** Words that consist only of digits and of Cyrillic or Greek letters that look like Latin letters. */
const LATIN_LOOK = /^[аеорсухіјѕһԁԛԝӏкАВЕКМНОРСТУХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧορνιυ0-9]+$/u;

/**
 * nameFault returns why a name can be mistaken for another name, as a predicate whose subject is the name; undefined if the name is acceptable. This rule
 * applies to all names that one person chooses and other people read: names of keys, sources, sensors, hosts, groups, policies and accounts. Names are
 * case-sensitive: "Web" and "web" are different names.
 */
export function nameFault(text: string): string | undefined {
  const name = text.normalize('NFC');
  if (INVISIBLE.test(name)) return 'must not contain invisible characters';
  if (ODD_BLANKS.test(name))
    return 'must not start or end with white space, or contain white space other than single spaces';
  const words = name.match(WORD) ?? [];
  return words.some(isMisleading) ? 'must not contain words that can be mistaken for other words' : undefined;
}

function isMisleading(word: string): boolean {
  if (ODD_LETTERS.test(word)) return true;
  if (LATIN.test(word)) return NOT_BESIDE_LATIN.test(word);
  if (ALIKE.filter((script) => script.test(word)).length > 1) return true;
  return /\p{L}/u.test(word) && LATIN_LOOK.test(word);
}
