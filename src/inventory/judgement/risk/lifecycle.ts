import type { RuleSet } from '../../model/rule-set.js';
import { type AxisVerdict, levelNumber } from '../../model/risk-verdict.js';

const DAY = 24 * 3600 * 1000;
/** CRYPTOPERIOD_DAYS is the maximum cryptoperiod: two years for most kinds of keys (NIST SP 800-57 part 1 rev. 5, table 1). */
const CRYPTOPERIOD_DAYS = 730;
const FINE: AxisVerdict = { status: 'no-finding', level: 'NONE', rule: null };

/** A certificate or key with its dates. */
interface DatedAsset {
  readonly kind: string;
  readonly notBefore: Date | null;
  readonly notAfter: Date | null;
  /** CycloneDX component. */
  readonly component: Readonly<Record<string, unknown>>;
}

/**
 * lifecycleAt returns the lifecycle finding about a certificate or key at a given time. Lifecycle findings are not part of the stored verdict, because
 * lifecycle findings change over time.
 */
export function lifecycleAt(asset: DatedAsset, at: Date, { rules }: RuleSet): AxisVerdict {
  const conditions = new Set(asset.kind === 'certificate' ? certificate(asset, at) : material(asset, at));
  return rules
    .filter(({ axis, match }) => axis === 'lifecycle' && conditions.has(match.certificate ?? match.material ?? ''))
    .reduce<AxisVerdict>(
      (worst, { id, status, level }) =>
        worst.rule === null || levelNumber(level) > levelNumber(worst.level) ? { status, level, rule: id } : worst,
      FINE,
    );
}

function certificate({ notBefore, notAfter }: DatedAsset, at: Date): string[] {
  const left = notAfter === null ? Infinity : notAfter.getTime() - at.getTime();
  const conditions = notBefore !== null && notBefore > at ? ['not-yet-valid'] : [];
  if (left < 0) return [...conditions, 'expired'];
  if (left <= 30 * DAY) conditions.push('expires-within-30-days');
  if (left <= 7 * DAY) conditions.push('expires-within-7-days');
  return conditions;
}

function material({ component, notAfter }: DatedAsset, at: Date): string[] {
  const crypto = component['cryptoProperties'] as
    { relatedCryptoMaterialProperties?: Record<string, unknown> } | undefined;
  const { state, creationDate, activationDate } = crypto?.relatedCryptoMaterialProperties ?? {};
  if (state !== 'active') return [];
  const conditions = notAfter !== null && notAfter < at ? ['active-after-expiry'] : [];
  const since = Date.parse(String(activationDate ?? creationDate));
  if (at.getTime() - since > CRYPTOPERIOD_DAYS * DAY) conditions.push('older-than-cryptoperiod');
  return conditions;
}
