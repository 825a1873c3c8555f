import type { EntryRow } from '../../audit/entries/entry-row.js';

/** KeyStatement is an audit entry that states facts about an SSH key. */
export type KeyStatement = Pick<EntryRow, 'id' | 'detail'>;

interface StatedFacts {
  readonly fingerprint?: string;
  readonly custody?: string;
  /** Null if the owner was removed; absent if no statement names an owner. */
  readonly owner?: string | null;
  /** The statement of the rotation that made the key the successor of another key. A key without an owner inherits the owner of that key. */
  readonly replaces?: KeyStatement;
}

/** statedFacts returns the facts about a key after these statements, oldest first. Each statement changes only the facts that it names. */
export function statedFacts(statements: readonly KeyStatement[]): StatedFacts {
  return statements.reduce<StatedFacts>((facts, statement) => {
    const { fingerprint, custody, owner } = statement.detail;
    return {
      ...facts,
      ...(typeof fingerprint === 'string' && { fingerprint }),
      ...(typeof custody === 'string' && { custody }),
      ...((typeof owner === 'string' || owner === null) && { owner }),
      ...('replaces' in statement.detail && { replaces: statement }),
    };
  }, {});
}

/** statementsOfRotations returns the statements about a key in the entries of the rotations that generated it, for entries without `replaces`. */
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
