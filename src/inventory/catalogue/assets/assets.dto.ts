import { ApiProperty } from '@nestjs/swagger';
import { viewOf } from '../../../platform/http/fields/view-of.js';
import type { RuleSet } from '../../model/rule-set.js';
import { lifecycleAt } from '../../judgement/risk/lifecycle.js';
import { type AxisVerdict, type RiskFinding, type Level, LEVELS, levelNumber } from '../../model/risk-verdict.js';
import type { ResolvedBy } from '../../model/risk-subject.js';
import type { AssetKind, AssetState } from '../../model/asset-kind.js';
import { DeadlineView } from '../../judgement/risk-rules/rules.dto.js';
import type { JudgedAsset } from './asset.entity.js';
import type { AssetDetail, AssetPage } from './assets.reader.js';

export class AxisView {
  /** @example quantum-vulnerable */
  status: string;
  level: Level;
  /** Rule that determined the status. @example Q-SHOR */
  rule: string | null;

  static of(row: AxisVerdict): AxisView {
    return viewOf(AxisView, row);
  }
}

export class AssetView {
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  id: string;
  kind: AssetKind;
  /** @example RSA-2048 */
  name: string;
  /** @example RSA */
  family: string | null;
  /** @example 2048 */
  bits: number | null;
  /** Highest level of the quantum, classical and material findings; null for a component that does not use cryptography directly. */
  @ApiProperty({ enum: LEVELS, nullable: true }) level: Level | null;
  /** The higher of `level` and the lifecycle level. */
  @ApiProperty({ enum: LEVELS, nullable: true }) overall: Level | null;
  /** @example quantum-vulnerable */
  quantum: string | null;
  /** @example safe */
  classical: string | null;
  lifecycle: AxisView;
  /** @example Q-SHOR */
  rule: string | null;
  /** Date of the first binding deadline, or of the first deadline if none is binding. Planning and acquisition deadlines are excluded. @example 2030-12-31 */
  deadline: string | null;
  /** Source of `deadline`: its jurisdiction, authority and provision. */
  @ApiProperty({
    type: () => DeadlineView,
    nullable: true,
    example: {
      date: '2031-12-31',
      state: 'must-be-pqc',
      authority: 'US EO 14412',
      provision: '§4(b)(iii)',
      jurisdiction: 'US-EO',
      binding: true,
      draft: false,
      url: 'https://www.federalregister.gov/d/2026-12909',
    },
  })
  deadlineBy: DeadlineView | null;
  state: AssetState;
  /** @example payments */
  owner: string | null;
  /** @example ["pci"] */
  labels: string[];
  /** Version of the owner and labels, used as the value for `If-Match`. @example 1 */
  version: number;
  notBefore: Date | null;
  notAfter: Date | null;
  firstSeen: Date;
  changedAt: Date;

  static of(asset: JudgedAsset, at: Date, rules: RuleSet): AssetView {
    const { id, kind, name, family, bits, quantum, classical, rule, deadline, deadlineBy, state } = asset;
    const { owner, labels, version, notBefore, notAfter, firstSeen, changedAt } = asset;
    const level = asset.level === null ? null : (LEVELS[asset.level] ?? null);
    const lifecycle = AxisView.of(lifecycleAt(asset, at, rules));
    const overall = level === null || levelNumber(lifecycle.level) > levelNumber(level) ? lifecycle.level : level;
    const worst = level === null && lifecycle.rule === null ? null : overall;
    const what = { id, kind, name, family, bits };
    const judged = { level, overall: worst, quantum, classical, lifecycle, rule, deadline, deadlineBy };
    return { ...what, ...judged, state, owner, labels, version, notBefore, notAfter, firstSeen, changedAt };
  }
}

export class TotalView {
  /** @example 10000 */
  count: number;
  @ApiProperty({ enum: ['EXACT', 'AT_LEAST'] }) type: 'EXACT' | 'AT_LEAST';
}

export class AssetPageView {
  items: AssetView[];
  /** @example WyJhdWRpdCAiLCIwMTk0NWYyZSJd.3q2-7wAAAAAAAAAAAAAAAA */
  nextCursor: string | null;
  total?: TotalView;

  static of({ items, nextCursor, total }: AssetPage, at: Date, rules: RuleSet): AssetPageView {
    return {
      items: items.map((asset) => AssetView.of(asset, at, rules)),
      nextCursor,
      ...(total === undefined ? {} : { total }),
    };
  }
}

export class ResolvedByView {
  @ApiProperty({ enum: ['reference', 'dependsOn', 'usedBy', 'name'] }) via: ResolvedBy['via'];
  /** @example 0f9c2c1e-5a0b-8c3d-9e21-7d4b6a8c9e01 */
  assetId?: string;
}

/** Status under one jurisdiction on the requested day. */
export class StandingView {
  /** @example NIST */
  jurisdiction: string;
  /** @example deprecated */
  state: string;
  /** Last day before the state takes effect. @example 2030-12-31 */
  since: string;
  /** @example "NIST IR 8547" */
  authority: string;
  /** Section and scope within the document. @example "§4.1" */
  provision?: string;
  /** Link to the document. @example "https://csrc.nist.gov/pubs/ir/8547/ipd" */
  url?: string;
  draft: boolean;
  binding: boolean;
}

export class AssetDetailView extends AssetView {
  @ApiProperty({
    type: () => AxisView,
    nullable: true,
    example: { status: 'quantum-vulnerable', level: 'HIGH', rule: 'Q-SHOR' },
  })
  quantumAxis: AxisView | null;
  @ApiProperty({
    type: () => AxisView,
    nullable: true,
    example: { status: 'quantum-vulnerable', level: 'HIGH', rule: 'Q-SHOR' },
  })
  classicalAxis: AxisView | null;
  @ApiProperty({
    type: () => AxisView,
    nullable: true,
    example: { status: 'quantum-vulnerable', level: 'HIGH', rule: 'Q-SHOR' },
  })
  materialAxis: AxisView | null;
  /** Findings of all rules that apply, worst first, each with its reason, standard and deadlines. */
  @ApiProperty({ type: 'array', items: { type: 'object', additionalProperties: true }, example: [{ rule: 'Q-SHOR' }] })
  findings: RiskFinding[];
  /** For each jurisdiction, the latest deadline that has passed on the requested day. */
  standing: StandingView[];
  /** Path from the asset to the algorithm that determined the verdict; empty if the asset itself determined it. */
  resolvedBy: ResolvedByView[];
  /** CycloneDX 1.6 component. References are asset ids. */
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { type: 'cryptographic-asset', name: 'RSA-2048' },
  })
  component: Record<string, unknown>;

  static ofDetail({ asset, verdict }: AssetDetail, at: Date, rules: RuleSet): AssetDetailView {
    return Object.assign(AssetView.of(asset, at, rules), {
      quantumAxis: verdict === null ? null : AxisView.of(verdict.quantum),
      classicalAxis: verdict === null ? null : AxisView.of(verdict.classical),
      materialAxis: verdict?.material == null ? null : AxisView.of(verdict.material),
      findings: [...(verdict?.findings ?? [])],
      standing: standingAt(verdict?.findings ?? [], at),
      resolvedBy: asset.resolvedBy ?? [],
      component: asset.component,
    });
  }
}

function standingAt(findings: readonly RiskFinding[], at: Date): StandingView[] {
  const day = at.toISOString().slice(0, 10);
  const standing = new Map<string, StandingView>();
  const passed = findings
    .flatMap(({ deadlines }) => deadlines)
    .filter(({ date, appliesTo }) => date < day && appliesTo === undefined);
  for (const { jurisdiction, state, date, authority, provision, url, draft, binding } of passed.sort((a, b) =>
    a.date < b.date ? -1 : 1,
  ))
    standing.set(jurisdiction, { jurisdiction, state, since: date, authority, provision, url, draft, binding });
  return [...standing.values()];
}
