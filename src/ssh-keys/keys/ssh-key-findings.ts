import { Injectable } from '@nestjs/common';
import { Column, Entity, type EntityManager, In, Index, IsNull, PrimaryColumn } from 'typeorm';
import { columns } from '../../platform/database/statements.js';
import { newId } from '../../platform/database/new-id.js';
import { Config } from '../../platform/config/config.js';
import { Clock } from '../../platform/time/clock.js';
import { type FindingRule, type FindingSeverity, findingsOf } from './finding-rules.js';
import { SshKeyLocation } from './ssh-key-location.entity.js';
import { SshKey } from './ssh-key.entity.js';

/** A finding about a key: the rule, the severity and the location. */
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

  /** The place that the finding is about; null when it is about the key itself. */
  @Column('uuid', { nullable: true })
  locationId: string | null;

  @Column('text')
  detail: string;
}

/** Updates the findings of keys, in the transaction that changes the keys or their locations. */
@Injectable()
export class SshKeyFindings {
  constructor(
    private readonly config: Config,
    private readonly clock: Clock,
  ) {}

  async refresh(tx: EntityManager, keyIds: readonly string[]): Promise<void> {
    if (keyIds.length === 0) return;
    const keys = await tx.findBy(SshKey, { id: In([...keyIds]), state: 'ACTIVE' });
    const locations = await tx.findBy(SshKeyLocation, { keyId: In([...keyIds]), goneAt: IsNull() });
    const byKey = Map.groupBy(locations, ({ keyId }) => keyId);
    const now = this.clock.now();
    const rows = keys.flatMap((key) =>
      findingsOf({ key, locations: byKey.get(key.id) ?? [] }, this.config.sshKeyMaxAgeDays, now).map((finding) => ({
        id: newId(),
        key_id: key.id,
        rule: finding.rule,
        severity: finding.severity,
        location_id: finding.locationId,
        detail: finding.detail,
      })),
    );
    await tx.query(`DELETE FROM ssh_key_finding WHERE key_id = ANY($1::uuid[])`, [keyIds]);
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
