import { Injectable } from '@nestjs/common';
import { Column, Entity, type EntityManager, In, Index, IsNull, PrimaryColumn } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { Config } from '../../platform/config/config.js';
import { Clock } from '../../platform/work/clock.js';
import { type FindingRule, type FindingSeverity, findingsOf, type SshKeyFault } from './finding-rules.js';
import { SshKeyLocation } from './ssh-key-location.entity.js';
import { SshKey } from './ssh-key.entity.js';

/** SshKeyFinding is a finding about a key: the rule, the severity and the location. */
@Entity('ssh_key_finding')
@Index('ssh_key_finding_rule', ['rule', 'keyId'])
export class SshKeyFinding {
  @PrimaryColumn('uuid')
  id: string;

  @Index('ssh_key_finding_key')
  @Column('uuid')
  keyId: string;

  @Column('text')
  rule: FindingRule;

  @Column('text')
  severity: FindingSeverity;

  /** Location of the finding. Null if the finding concerns the key itself. */
  @Column('uuid', { nullable: true })
  locationId: string | null;

  @Column('text')
  detail: string;
}

/** WrongFindings counts the keys whose stored findings differed from the rules. */
export interface WrongFindings {
  /** Number of keys that differed only because of their age. */
  readonly aged: number;
  readonly wrong: number;
}

type FoundFinding = SshKeyFault & { readonly keyId: string };

/** SshKeyFindings updates the findings of keys, inside the transaction that changes the keys or their locations. */
@Injectable()
export class SshKeyFindings {
  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  async refresh(tx: EntityManager, keyIds: readonly string[]): Promise<void> {
    if (keyIds.length === 0) return;
    await this.replace(tx, keyIds, await this.found(tx, keyIds));
  }

  /**
   * Replaces findings of the keys that differ from the current rules. Skips keys whose rows are locked by another transaction, because that transaction updates
   * the findings itself.
   */
  async reconcile(tx: EntityManager, keyIds: readonly string[]): Promise<WrongFindings> {
    const free: { id: string }[] = await tx.query(
      'SELECT id FROM ssh_key WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED',
      [keyIds],
    );
    const ids = free.map(({ id }) => id);
    const stored = Map.groupBy(await tx.findBy(SshKeyFinding, { keyId: In(ids) }), ({ keyId }) => keyId);
    const found = await this.found(tx, ids);
    const now = Map.groupBy(found, ({ keyId }) => keyId);
    const wrong = ids.filter((id) => differ(stored.get(id), now.get(id)));
    const isOfAge = ({ rule }: SshKeyFault) => rule === 'old';
    const others = (some: readonly SshKeyFault[] = []) => some.filter((one) => !isOfAge(one));
    const aged = wrong.filter((id) => !differ(others(stored.get(id)), others(now.get(id)))).length;
    await this.replace(
      tx,
      wrong,
      found.filter(({ keyId }) => wrong.includes(keyId)),
    );
    return { aged, wrong: wrong.length - aged };
  }

  private async found(tx: EntityManager, keyIds: readonly string[]): Promise<FoundFinding[]> {
    const keys = await tx.findBy(SshKey, { id: In([...keyIds]), state: 'ACTIVE' });
    const locations = await tx.findBy(SshKeyLocation, { keyId: In([...keyIds]), goneAt: IsNull() });
    const byKey = Map.groupBy(locations, ({ keyId }) => keyId);
    const now = this.clock.now();
    return keys.flatMap((key) =>
      findingsOf({ key, locations: byKey.get(key.id) ?? [] }, this.config.sshKeyMaxAgeDays, now).map((fault) => ({
        ...fault,
        keyId: key.id,
      })),
    );
  }

  private async replace(tx: EntityManager, keyIds: readonly string[], found: readonly FoundFinding[]): Promise<void> {
    if (keyIds.length === 0) return;
    await tx.query(`DELETE FROM ssh_key_finding WHERE key_id = ANY($1::uuid[])`, [keyIds]);
    const rows = found.map(({ keyId, rule, severity, locationId, detail }) => ({
      id: newId(),
      key_id: keyId,
      rule,
      severity,
      location_id: locationId,
      detail,
    }));
    const { from, values } = columns(rows, {
      id: 'uuid',
      key_id: 'uuid',
      rule: 'text',
      severity: 'text',
      location_id: 'uuid',
      detail: 'text',
    });
    await tx.query(
      `INSERT INTO ssh_key_finding (id, key_id, rule, severity, location_id, detail)
       SELECT id, key_id, rule, severity, location_id, detail FROM ${from}`,
      values,
    );
  }
}

/** Reports whether two lists contain different findings. Ignores the detail, which may contain a number of days. */
function differ(some: readonly SshKeyFault[] = [], others: readonly SshKeyFault[] = []): boolean {
  const keysOf = (list: readonly SshKeyFault[]) =>
    list.map(({ rule, severity, locationId }) => `${rule} ${severity} ${locationId ?? ''}`).sort();
  return keysOf(some).join() !== keysOf(others).join();
}
