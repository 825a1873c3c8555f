import { type EntityManager, Column, Entity, PrimaryColumn } from 'typeorm';
import { columns } from '../database/statements.js';
import { newId } from '../database/new-id.js';
import { truncate } from '../text/truncate.js';

/**
 * AlertEventRow is an event that may cause alerts. The row is inserted in the transaction that causes the event, and deleted after the event has been
 * processed.
 */
@Entity('happening')
export class AlertEventRow {
  @PrimaryColumn('uuid')
  id: string;

  @Column('text')
  type: AlertEventType;

  @Column('text')
  subjectKind: string;

  @Column('text')
  subjectId: string;

  @Column('text')
  subjectName: string;

  @Column('timestamptz', { default: () => 'now()' })
  at: Date;

  @Column('int', { default: 1 })
  count: number;

  @Column('jsonb', { default: {} })
  facts: AlertFacts;

  /** Whether the condition has ended. */
  @Column('boolean', { default: false })
  over: boolean;
}

export type AlertFact = string | number | readonly string[];
export type AlertFacts = Readonly<Record<string, AlertFact>>;

export type AlertEventType =
  | 'asset.found' // facts: level0 … level4 (number of new assets per risk level), examples (names of some)
  | 'asset.risk-changed' // facts: level0 … level4 (number of assets that changed to the level), examples (names of some)
  | 'certificate.ending' // certificate of a signing key; facts: daysLeft
  | 'policy.violated' // facts: violations (number of assets that violate the requirement)
  | 'sensor.silent'
  | 'scan.failed'
  | 'rotation.critical'
  | 'host.key-changed'
  | 'ssh-key.drift'
  | 'approval.waiting'
  | 'hsm.down'
  | 'row.refused' // a row that grants rights was modified directly in the database
  | 'catalogue.changed'; // the database contains objects that no migration created

export interface AlertEvent {
  readonly type: AlertEventType;
  /** Subject of the event. Events of the same subject and type are combined into one alert. */
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string };
  /** Time of the event. Defaults to now. */
  readonly at?: Date;
  /** Number of occurrences. Defaults to 1. */
  readonly count?: number;
  /** Facts shown to people, starting with `where` and `why`. Never contains secrets. */
  readonly facts?: AlertFacts;
  /** Whether the condition recorded earlier for this subject has ended, for example because the HSM responds again or the approval was granted. */
  readonly over?: boolean;
}

const MAX_TEXT = 1000;

/** recordAlertEvents records events that may cause alerts. An event commits together with the change that causes it, so no event is lost in a crash. */
export async function recordAlertEvents(tx: EntityManager, events: readonly AlertEvent[]): Promise<void> {
  if (events.length === 0) return;
  const { from, values } = columns(events.map(rowOf), {
    id: 'uuid',
    type: 'text',
    subject_kind: 'text',
    subject_id: 'text',
    subject_name: 'text',
    at: 'timestamptz',
    count: 'int',
    facts: 'jsonb',
    over: 'boolean',
  });
  await tx.query(
    `INSERT INTO happening (id, type, subject_kind, subject_id, subject_name, at, count, facts, over)
     SELECT id, type, subject_kind, subject_id, subject_name, coalesce(at, now()), count, facts::jsonb, over FROM ${from}`,
    values,
  );
}

function rowOf({ type, subject, at, count = 1, facts = {}, over = false }: AlertEvent) {
  return {
    id: newId(),
    type,
    subject_kind: subject.kind,
    subject_id: subject.id,
    subject_name: truncate(subject.name, MAX_TEXT),
    at: at ?? null,
    count,
    facts: Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, short(value)])),
    over,
  };
}

function short(value: AlertFact): AlertFact {
  if (Array.isArray(value)) return value.map((item: string) => truncate(item, MAX_TEXT));
  return typeof value === 'string' ? truncate(value, MAX_TEXT) : value;
}
