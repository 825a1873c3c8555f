import { ApiProperty } from '@nestjs/swagger';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import { JURISDICTIONS, type Opinion, type Stance, type Target } from '../../judgement/risk/jurisdictions.js';
import { DeadlineView } from '../../judgement/risk-rules/rules.dto.js';
import type { DeadlineCount } from './deadlines.reader.js';
import { type Conflict, type Stand, sidesOf } from './jurisdictions.reader.js';
import type { AlgorithmPurpose } from '../../model/risk-subject.js';

export class OpinionView {
  /** @example CNSA */
  jurisdiction: string;
  stance: Stance;
  /** Status of the algorithm in the rules, or an explanation; null if the jurisdiction has no position. @example "CNSA 2.0 requires ML-KEM-1024" */
  reason: string | null;
  /** Last day before the position takes effect. @example 2030-12-31 */
  date: string | null;
  /** Document that sets the deadline. @example "CNSA 2.0 FAQ v2.1" */
  authority: string | null;
  /** Section and scope within the document. @example "p.2" */
  provision: string | null;
  /** Link to the document. @example "https://csrc.nist.gov/pubs/ir/8547/ipd" */
  url: string | null;
  /** Whether the deadline is binding rather than advisory. */
  binding: boolean;
  /** Whether the document is a draft. */
  draft: boolean;
  /**
   * Whether the position was checked against the primary source rather than taken from secondary sources; null if no position on the algorithm was found.
   * @example true
   */
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
  /** Number of assets that use the algorithm. @example 12 */
  assets: number;
  /** One opinion per jurisdiction, in the order of `jurisdictions`. */
  opinions: OpinionView[];
  /** Whether one jurisdiction recommends the algorithm and another jurisdiction objects to it. */
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
  /** Algorithms in descending order of asset counts, at most 500. */
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
  /** Jurisdictions that object to the algorithm on the requested day. @example ["BSI", "ANSSI"] */
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
  /** Replacement that satisfies all jurisdictions; null if no replacement does. @example ML-DSA-87 */
  satisfiesAll: string | null;
  /** Possible replacements, in ascending order of objections. */
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
  /** IDs of the rules that contain the deadline. @example ["Q-RSA-KE-112"] */
  rules: string[];
  /**
   * Number of active assets to which the deadline applies. An asset is counted for each deadline that applies to the asset. Null for a deadline on validity
   * periods, because the number depends on the day.
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
  /**
   * Deadlines, ordered by date. Deadlines with `appliesTo` apply only to certain plans, acquisitions or organizations, and are never an asset's next deadline.
   */
  items: DeadlineCountView[];

  static of(day: string, counts: readonly DeadlineCount[]): DeadlineCountsView {
    return { asOf: day, items: counts.map((count) => DeadlineCountView.ofCount(count, day)) };
  }
}
