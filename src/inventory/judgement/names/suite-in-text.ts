import { findSuite } from '../vocabularies/tls-suites.js';
import { hasNoSize, type Mention, mentionsOf } from './name-mentions.js';
import { tokensOf } from './name-tokens.js';
import { suiteMentions } from './suite-mentions.js';

/** Matches names that are used only for cipher suites. AES256-SHA is excluded, because it is also an IPsec proposal. */
const SUITE_LIKE = /^\W?(?:TLS|SSL|EC?DHE?[-_]|A(?:EC)?DH-|EXP|SRP-|KRB5-|RSA-PSK|DHE-PSK)/i;
/** Matches suite code points after the words that GSKit and z/OS use. */
const SUITE_CODE = /(?:cipher ?suite|cipher ?spec|suite)s?[ :=]{1,3}(?:0x)?([0-9A-F]{2}(?:[0-9A-F]{2})?)\b/i;
const SEPARATORS = /[\s()[\]{}'",;:=]+/;

/**
 * suiteInText returns the algorithms of a cipher suite that occurs among other words, with the sizes in these words: `TLS_DHE_RSA_WITH_AES_128_CBC_SHA
 * (dh 1024)`, `cipher spec 000A`. Returns undefined if the text contains no suite or more than one suite.
 */
export function suiteInText(text: string): readonly Mention[] | undefined {
  const code = SUITE_CODE.exec(text)?.[1];
  const registered = code === undefined ? undefined : findSuite(`0x${code.padStart(4, '0')}`);
  if (registered !== undefined) return suiteMentions(registered);
  const words = text.split(SEPARATORS);
  const suites = new Set(words.flatMap((word) => (SUITE_LIKE.test(word) ? (findSuite(word) ?? []) : [])));
  const [only] = suites;
  if (only === undefined || suites.size > 1) return undefined;
  const rest = words.filter((word) => findSuite(word) === undefined).join(' ');
  const said = mentionsOf(tokensOf(rest)).mentions;
  return suiteMentions(only).map((mention) => sized(mention, said));
}

/** Adds the size in the text for the same algorithm, or for the curve that the algorithm uses. */
function sized(mention: Mention, said: readonly Mention[]): Mention {
  if (!hasNoSize(mention)) return mention;
  const same = said.find(
    ({ family, sizes, curveBits }) =>
      family === mention.family || (mention.family === 'ECDH' && sizes === 'curve' && curveBits !== null),
  );
  return same === undefined ? mention : { ...mention, bits: same.bits, curveBits: same.curveBits };
}
