/**
 * The edition of what this version reads out of documents: vocabularies, grammar, and the facts that verdicts are drawn from. It is raised by one
 * with every change of what a name, a protocol, a key or a certificate is read as (`reading-edition.spec.ts` notices those of names). What was
 * stored by a lower one is read again (docs/decisions/0140).
 */
export const READING_EDITION = 7;
