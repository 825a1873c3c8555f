/**
 * READING_EDITION is the edition of the parsing rules in this version: vocabularies, grammar, and the facts from which verdicts are derived. Increase the
 * edition whenever a name, a protocol, a key or a certificate is interpreted differently (`reading-edition.spec.ts` detects changes for names). Assets that
 * were stored with an earlier edition are reread (docs/decisions/0140).
 */
export const READING_EDITION = 7;
