import { ApiProperty } from '@nestjs/swagger';
import { viewOf } from '../../platform/http/fields/view-of.js';
import { JURISDICTIONS, type Opinion, type Stance, type Target } from '../risk/jurisdictions.js';
import { DeadlineView } from '../risk-rules/rules.dto.js';
import type { DeadlineCount } from './deadlines.reader.js';
import { type Conflict, type Stand, sidesOf } from './jurisdictions.reader.js';
import type { AlgorithmPurpose } from '../model/risk-subject.js';

export class OpinionView {
  /** @example CNSA */
  jurisdiction: string;
  stance: Stance;
  /** What it says: a state of the rules, or a sentence; null when it says nothing. @example "CNSA 2.0 asks for ML-KEM-1024" */
  reason: string | null;
  /** The last day of the old state. @example 2030-12-31 */
  date: string | null;
  /** The document that says so. @example "CNSA 2.0 FAQ v2.1" */
  authority: string | null;
  /** Section and scope within the document. @example "p.2" */
  provision: string | null;
  /** Link to the document. @example "https://csrc.nist.gov/pubs/ir/8547/ipd" */
  url: string | null;
  /** true: binds those under the authority; false: advice. */
  binding: boolean;
  /** true: of a document that is not final. */
  draft: boolean;
  /** true: read in the primary text; false: known from other texts; null: no statement about this algorithm was read. @example true */
  verified: boolean | null;

  static of(opinion: Opinion): OpinionView {
    return { ...opinion };
  }
}

export class JurisdictionStandView {
  /** @example ML-KEM-768 */
  algorithm: string;
  /** @example ML-KEM */
  family: string;
  purpose: AlgorithmPurpose;
  /** How many assets use it. @example 12 */
  assets: number;
  /** One of each jurisdiction, in the order of `jurisdictions`. */
  opinions: OpinionView[];
  /** One jurisdiction recommends what another objects to. */
  conflict: boolean;

  static of(row: Stand): JurisdictionStandView {
    const { opinions } = row;
    const { favour, against } = sidesOf(opinions);
    const conflict = favour.length > 0 && against.length > 0;
    return viewOf(JurisdictionStandView, row, { opinions: opinions.map((one) => OpinionView.of(one)), conflict });
  }
}

export class JurisdictionMatrixView {
  /** @example 2031-01-01 */
  asOf: string;
  /** @example ["NIST", "CNSA", "US-EO", "BSI", "ANSSI", "EU", "UK-NCSC", "ASD"] */
  jurisdictions: string[];
  /** The algorithm of the most assets first, 500 at most. */
  items: JurisdictionStandView[];

  static of(day: string, stands: readonly Stand[]): JurisdictionMatrixView {
    return {
      asOf: day,
      jurisdictions: [...JURISDICTIONS],
      items: stands.map((stand) => JurisdictionStandView.of(stand)),
    };
  }
}

export class MigrationTargetView {
  /** @example ML-KEM-1024 */
  name: string;
  /** Jurisdictions that object to it on that day. @example ["BSI", "ANSSI"] */
  objections: string[];

  static of({ name, objections }: Target): MigrationTargetView {
    return { name, objections: [...objections] };
  }
}

export class ConflictView {
  /** @example X25519MLKEM768 */
  algorithm: string;
  /** @example X25519MLKEM768 */
  family: string;
  purpose: AlgorithmPurpose;
  /** @example 12 */
  assets: number;
  favour: OpinionView[];
  against: OpinionView[];
  /** What satisfies all jurisdictions; null when nothing does. @example ML-DSA-87 */
  satisfiesAll: string | null;
  /** What to move to, that to which the fewest object first. */
  targets: MigrationTargetView[];

  static of(row: Conflict): ConflictView {
    const { targets, opinions } = row;
    const { favour, against } = sidesOf(opinions);
    return viewOf(ConflictView, row, {
      favour: favour.map((one) => OpinionView.of(one)),
      against: against.map((one) => OpinionView.of(one)),
      satisfiesAll: targets.find(({ objections }) => objections.length === 0)?.name ?? null,
      targets: targets.map((target) => MigrationTargetView.of(target)),
    });
  }
}

export class ConflictsView {
  /** @example 2031-01-01 */
  asOf: string;
  items: ConflictView[];

  static of(day: string, conflicts: readonly Conflict[]): ConflictsView {
    return { asOf: day, items: conflicts.map((conflict) => ConflictView.of(conflict)) };
  }
}

export class DeadlineCountView extends DeadlineView {
  /** Rules that have it. @example ["Q-RSA-KE-112"] */
  rules: string[];
  /**
   * Active assets that it applies to, each once; an asset counts for every deadline that applies to it, not only for its next one. null: not
   * counted, because it limits validity periods and so depends on the day.
   * @example 334
   */
  @ApiProperty({ type: 'integer', nullable: true }) assets: number | null;
  /** Whether the date has passed. */
  passed: boolean;

  static ofCount({ deadline, rules, assets }: DeadlineCount, today: string): DeadlineCountView {
    return { ...deadline, rules: [...rules], assets, passed: deadline.date < today };
  }
}

export class DeadlineCountsView {
  /** @example 2026-11-28 */
  asOf: string;
  /** In the order of the dates. Those with `appliesTo` are of plans, acquisitions or certain organizations, and are the next deadline of no asset. */
  items: DeadlineCountView[];

  static of(day: string, counts: readonly DeadlineCount[]): DeadlineCountsView {
    return { asOf: day, items: counts.map((count) => DeadlineCountView.ofCount(count, day)) };
  }
}
