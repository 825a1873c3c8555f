import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { RightsLedger } from '../../audit/history/rights-ledger.js';
import { VouchedEntries } from '../../audit/log/vouched-entries.js';
import { EventBus } from '../../platform/events/events.js';
import type { SshKey } from '../keys/ssh-key.entity.js';
import { type KeyStatement, statedFacts, statementsOfRotations } from './key-statements.js';

/** Columns that determine whether a policy rotates a key. */
type JudgedKey = Pick<SshKey, 'id' | 'fingerprint' | 'custody' | 'owner'>;

/** Maximum number of rotations between a key and the earlier key whose owner is in the log. */
const MAX_PREDECESSORS = 100;

/**
 * LoggedKeys compares the facts that decide whether a policy rotates a key with the audit log. Scans never set these facts: the fingerprint, custody and owner
 * of a key are always set by a user or by a rotation, and each change has an audit entry.
 */
@Injectable()
export class LoggedKeys {
  constructor(
    private readonly db: DataSource,
    private readonly vouched: VouchedEntries,
    private readonly ledger: RightsLedger,
    private readonly events: EventBus,
  ) {}

  /**
   * Reports whether the fingerprint, the custody and, if `byOwner` is set, the owner of a key match the audit log. If one of them does not match, the row was
   * modified directly in the database, which is recorded as `row.refused`. Throws the Problems of RightsLedger.
   */
  async agrees(key: JudgedKey, byOwner: boolean): Promise<boolean> {
    const agrees = await this.isAsLogged(key, byOwner);
    if (!agrees) this.events.emit('row.not-sealed', { table: 'ssh_key', key: key.id });
    return agrees;
  }

  private async isAsLogged(key: JudgedKey, byOwner: boolean): Promise<boolean> {
    const { edits } = await this.ledger.latest();
    const statements = await this.statements(key.id);
    const newest = edits.get(key.id);
    // The ledger keeps the number of the newest statement, so removing that statement's entry does not make an earlier statement effective again.
    if (newest !== undefined && !statements.some(({ detail }) => detail['edit'] === newest)) return false;
    const { fingerprint, custody, owner, heirBy } = statedFacts(statements);
    if (fingerprint !== key.fingerprint || custody !== key.custody) return false;
    return !byOwner || (owner ?? (await this.inheritedBy(heirBy))) === key.owner;
  }

  /** Returns the owner that the replaced key had when the rotation replaced it. */
  private async inheritedBy(heirBy: KeyStatement | undefined): Promise<string | null> {
    let made = heirBy;
    for (let i = 0; i < MAX_PREDECESSORS && made !== undefined; i += 1) {
      const { id: before, detail } = made;
      const earlier = (await this.statements(String(detail['replaces']))).filter(({ id }) => id < before);
      const { owner, heirBy: next } = statedFacts(earlier);
      if (owner !== null) return owner;
      made = next;
    }
    return null;
  }

  /** Returns the entries that record facts about a key, oldest first. */
  private async statements(keyId: string): Promise<KeyStatement[]> {
    const { manager } = this.db;
    const own = await this.vouched.about(manager, [keyId], ['ssh-key.entered', 'ssh-key.assigned']);
    if (own.some(({ detail }) => 'replaces' in detail)) return own;
    return [...(await this.earlierStatements(keyId)), ...own].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns statements about a key that a rotation generated under an earlier version, which recorded the key only in entries about the rotation. */
  private async earlierStatements(keyId: string): Promise<KeyStatement[]> {
    const rotations: { id: string }[] = await this.db.query(
      `SELECT r.id FROM ssh_key old JOIN ssh_rotation r ON r.key_id = old.id WHERE old.replaced_by = $1 AND r.next_key_id = $1`,
      [keyId],
    );
    const ids = rotations.map(({ id }) => id);
    const actions = ['ssh-rotation.requested', 'ssh-rotation.key-made'];
    return statementsOfRotations(await this.vouched.about(this.db.manager, ids, actions), keyId);
  }
}
