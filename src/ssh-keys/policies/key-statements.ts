import type { EntryRow } from '../../audit/entries/entry-row.js';

/** KeyStatement is an audit entry that records facts about an SSH key. */
export type KeyStatement = Pick<EntryRow, 'id' | 'detail'>;

interface StatedFacts {
  readonly fingerprint: string | undefined;
  readonly custody: string | undefined;
  readonly owner: string | null;
  /** Statement of the rotation through which the key inherits the replaced key's owner. Undefined if the key inherits no owner. */
  readonly heirBy: KeyStatement | undefined;
}

/** statedFacts applies these statements, oldest first, and returns the resulting facts about a key. Each statement changes only the facts that it contains. */
export function statedFacts(statements: readonly KeyStatement[]): StatedFacts {
  let facts: StatedFacts = { fingerprint: undefined, custody: undefined, owner: null, heirBy: undefined };
  for (const statement of statements) {
    const { fingerprint, custody, owner } = statement.detail;
    if (typeof fingerprint === 'string') facts = { ...facts, fingerprint };
    if (typeof custody === 'string') facts = { ...facts, custody };
    if (typeof owner === 'string' || owner === null) facts = { ...facts, owner, heirBy: undefined };
    if ('replaces' in statement.detail && facts.owner === null) facts = { ...facts, heirBy: statement };
  }
  return facts;
}

/**
 * statementsOfRotations returns the statements about a key from the entries of the rotation that generated the key. These entries do not contain `replaces`, so
 * the value is taken from the entry about the rotation's request.
 */
export function statementsOfRotations(
  entries: readonly Pick<EntryRow, 'id' | 'action' | 'targetId' | 'detail'>[],
  keyId: string,
): KeyStatement[] {
  return entries.flatMap(({ id, action, targetId, detail }) => {
    if (action !== 'ssh-rotation.key-made' || detail['keyId'] !== keyId) return [];
    const order = entries.find((entry) => entry.targetId === targetId && entry.action === 'ssh-rotation.requested');
    const { fingerprint, custody } = detail;
    return order === undefined ? [] : [{ id, detail: { fingerprint, custody, replaces: order.detail['keyId'] } }];
  });
}
