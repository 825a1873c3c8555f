import { Injectable } from '@nestjs/common';
import { type EntityManager, Column, Entity, PrimaryColumn } from 'typeorm';
import { columns } from '../database/statements.js';
import { newId } from '../database/new-id.js';
import { truncate } from '../text/truncate.js';

/** Something that people may want to hear of, written in the transaction that causes it; deleted when alerts have been made of it. */
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

  /** True when the condition has ended. */
  @Column('boolean', { default: false })
  over: boolean;
}

export type AlertFact = string | number | readonly string[];
export type AlertFacts = Readonly<Record<string, AlertFact>>;

export type AlertEventType =
  | 'asset.found' // facts: level0 … level4, the number of new assets of each risk level; examples, names of some
  | 'asset.risk-changed' // facts: level0 … level4, the number of assets that have this level now; examples, names of some
  | 'certificate.ending' // of a signing key; facts: daysLeft
  | 'policy.violated' // facts: violations, the number of assets that violate the requirement
  | 'sensor.silent'
  | 'scan.failed'
  | 'rotation.critical'
  | 'host.key-changed'
  | 'ssh-key.drift'
  | 'approval.waiting'
  | 'hsm.down'
  | 'row.refused' // a row that grants something was changed in the database
  | 'catalogue.changed'; // the database has objects that the migrations did not make

export interface AlertEvent {
  readonly type: AlertEventType;
  /** Subject of the event. Events of one subject and type make one alert, however often they come. */
  readonly subject: { readonly kind: string; readonly id: string; readonly name: string };
  /** Now, unless it was at another time. */
  readonly at?: Date;
  /** Number of occurrences; 1 by default. */
  readonly count?: number;
  /** Facts for people, `where` and `why` before all others. Never a secret. */
  readonly facts?: AlertFacts;
  /** The condition that was recorded for this subject before has ended: the HSM answers again, the approval was given. */
  readonly over?: boolean;
}

const MAX_TEXT = 1000;

/** Records what people may want to be alerted to. An event commits with the change that causes it, so none is lost in a crash. */
@Injectable()
export class AlertEvents {
  async record(tx: EntityManager, events: readonly AlertEvent[]): Promise<void> {
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
