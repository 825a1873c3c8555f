import type { AlgorithmUse, ProtocolFacts, RiskSubject } from '../../model/risk-subject.js';
import {
  type AxisVerdict,
  type Deadline,
  type RiskFinding,
  levelNumber,
  type RiskVerdict,
} from '../../model/risk-verdict.js';
import type { Rule, RuleMatch, RuleSet } from '../../model/rule-set.js';
import { findFamily, SHOR_BREAKABLE } from '../vocabularies/families.js';
import { mainUse } from '../names/crypto-use.js';
import { hybridFamily } from '../names/hybrids.js';
import { type CompiledRule, RuleIndex } from './rule-index.js';
import { TaughtNames } from '../names/taught-names.js';

const NOTHING: AxisVerdict = { status: 'no-finding', level: 'NONE', rule: null };

/** RiskEngine classifies facts under a set of rules. The result is deterministic: the same facts and rules always yield the same verdict. */
export class RiskEngine {
  private readonly rules: RuleIndex;
  private readonly names: TaughtNames;

  constructor(readonly ruleSet: RuleSet) {
    this.names = new TaughtNames(ruleSet.names ?? []);
    this.rules = new RuleIndex(ruleSet.rules.filter(({ axis }) => axis !== 'lifecycle'));
  }

  judge(facts: RiskSubject): RiskVerdict {
    const subject = this.names.applied(facts);
    const findings = this.rules.candidates(subject).flatMap((compiled) => applications(compiled, subject));
    findings.sort((a, b) => levelNumber(b.level) - levelNumber(a.level));
    const known = subject.ingredients.length > 0 || findings.some(({ axis }) => axis !== 'quality');
    const otherwise = { ...NOTHING, status: statusWithoutFinding(subject, known) };
    const quantum = axisVerdict(findings, 'quantum', subject) ?? otherwise;
    const classical = axisVerdict(findings, 'classical', subject) ?? otherwise;
    const material = axisVerdict(findings, 'material', subject) ?? null;
    const decisive = known
      ? highest([classical, quantum, material])
      : (axisVerdict(findings, 'quality', subject) ?? NOTHING);
    const main = subject.main ?? mainUse(subject.ingredients);
    const next = nextDeadline(findings);
    return {
      level: decisive.level,
      rule: decisive.rule,
      quantum,
      classical,
      material,
      ...sizeOf(main),
      deadline: next?.date ?? null,
      deadlineBy: next ?? null,
      findings,
    };
  }
}

/**
 * Returns the first binding deadline of all findings, or the first deadline if no deadline is binding. Dates for plans and acquisitions are ignored, because
 * these dates do not end any use.
 */
function nextDeadline(findings: readonly RiskFinding[]): Deadline | undefined {
  const own = findings.flatMap(({ deadlines }) => deadlines.filter(({ appliesTo }) => appliesTo === undefined));
  const rank = ({ binding, date }: Deadline) => `${binding ? 0 : 1}${date}`;
  return own.reduce<Deadline | undefined>(
    (first, one) => (first === undefined || rank(one) < rank(first) ? one : first),
    undefined,
  );
}

function statusWithoutFinding({ notApplicable }: RiskSubject, known: boolean): string {
  if (notApplicable === true) return 'not-applicable';
  return known ? 'no-finding' : 'unknown';
}

function sizeOf(main: AlgorithmUse | undefined): Pick<RiskVerdict, 'family' | 'bits'> {
  if (main === undefined) return { family: null, bits: null };
  const family = main.hybrid === null ? main.family : hybridFamily(main.hybrid);
  return { family, bits: main.curveBits ?? main.bits ?? (hasSizedSets(main) ? numeric(main.param) : null) };
}

/**
 * Reports whether the parameter of an algorithm is a parameter set. The parameter of a lightweight cipher is the block size, and the parameter of ChaCha is
 * the number of rounds.
 */
function hasSizedSets({ family, hybrid }: AlgorithmUse): boolean {
  const sizes = findFamily(family)?.sizes;
  return hybrid !== null || (sizes !== undefined && sizes !== 'light');
}

function numeric(param: string | null | undefined): number | null {
  return param !== null && param !== undefined && /^\d{1,5}$/.test(param) ? Number(param) : null;
}

/** Returns the highest verdict. Of several equal verdicts, the first is returned, so that current weaknesses take precedence over future weaknesses. */
function highest(verdicts: (AxisVerdict | null)[]): AxisVerdict {
  return verdicts.reduce<AxisVerdict>(
    (top, verdict) => (verdict !== null && levelNumber(verdict.level) > levelNumber(top.level) ? verdict : top),
    verdicts.find((verdict) => verdict?.rule !== null && verdict !== null) ?? NOTHING,
  );
}

/**
 * Returns the highest finding on an axis, from sorted findings. On the quantum axis, the status of a rule for both axes is the status that describes how Shor's
 * algorithm affects the asset.
 */
function axisVerdict(
  findings: readonly RiskFinding[],
  axis: RiskFinding['axis'],
  subject: RiskSubject,
): AxisVerdict | undefined {
  const both = axis === 'quantum' || axis === 'classical';
  const found = findings.find((finding) => finding.axis === axis || (both && finding.axis === 'both'));
  if (found === undefined) return undefined;
  const byShor =
    axis === 'quantum' && found.axis === 'both' && subject.ingredients.some(({ family }) => SHOR_BREAKABLE.has(family));
  return { status: byShor ? 'quantum-vulnerable' : found.status, level: found.level, rule: found.rule };
}

/** labelOf returns the name of a finding's subject. */
export function labelOf({ family, bits, curveBits, param, hybrid, mode }: AlgorithmUse): string {
  const size = param ?? curveBits ?? bits;
  return [hybrid ?? family, size, mode?.toUpperCase()].filter((part) => part !== null && part !== undefined).join('-');
}

function applications({ rule, suite }: CompiledRule, subject: RiskSubject): RiskFinding[] {
  const { match } = rule;
  if (match.selfSignedRoot !== undefined && match.selfSignedRoot !== (subject.selfSignedRoot ?? false)) return [];
  return [...new Set(labels(match, suite, subject))].map((label) => findingOf(rule, label));
}

/** Returns labels for the parts of the subject that match the rule. */
function labels(match: RuleMatch, suite: RegExp | undefined, subject: RiskSubject): string[] {
  const { protocol } = subject;
  for (const kind of ['material', 'certificate', 'quality'] as const) {
    const condition = match[kind];
    if (condition !== undefined)
      return subject[kind]?.includes(condition) === true ? [labelOfCondition(condition, subject)] : [];
  }
  if (match.protocol !== undefined)
    return protocol !== undefined && fitsProtocol(match, protocol) ? [protocolLabel(protocol)] : [];
  if (suite !== undefined) return (protocol?.suites ?? []).filter((name) => suite.test(name));
  const names = match.kex ?? match.hostkey;
  if (names !== undefined) return (protocol?.suites ?? []).filter((name) => names.includes(name));
  return subject.ingredients.filter((ingredient) => fitsAlgorithmUse(match, ingredient)).map(labelOf);
}

/** Returns the label of a condition. For unrecognized algorithms, the label consists of their names, so that users can define the names. */
function labelOfCondition(condition: string, { unread = [] }: RiskSubject): string {
  const isUnread = condition === 'unknown-algorithm' || condition === 'unread-public-key';
  return isUnread && unread.length > 0 ? unread.join(', ') : condition;
}

function findingOf(rule: Rule, subject: string): RiskFinding {
  const { id, axis, status, level, reason, standards, deadlines, target, verified } = rule;
  return { rule: id, axis, status, level, reason, standards, deadlines, target, verified, subject };
}

function protocolLabel({ type, version }: ProtocolFacts): string {
  return [type.toUpperCase(), version].filter((part) => part !== null).join(' ');
}

function fitsProtocol(match: RuleMatch, { type, version, kePq }: ProtocolFacts): boolean {
  if (match.protocol?.includes(type) !== true) return false;
  if (match.version === null && version !== null) return false;
  if (match.version !== undefined && match.version !== null && !match.version.includes(version ?? '')) return false;
  return match.kePq === undefined || (Array.isArray(match.kePq) ? match.kePq.includes(kePq) : match.kePq === kePq);
}

/** fitsAlgorithmUse reports whether an algorithm meets the conditions of a rule. */
export function fitsAlgorithmUse(match: RuleMatch, fact: AlgorithmUse): boolean {
  if (match.hybrid !== undefined)
    return fact.hybrid !== null && match.hybrid.includes(fact.hybrid) && fitsParam(match, fact);
  if (fact.hybrid !== null) return false;
  return (
    inList(match.family, fact.family) &&
    match.notFamily?.includes(fact.family) !== true &&
    inRange(match.bits, fact.bits) &&
    (match.notBits === undefined || (fact.bits !== null && !match.notBits.includes(fact.bits))) &&
    inRange(match.curveBits, fact.curveBits) &&
    fitsParam(match, fact) &&
    inList(match.purpose, fact.purpose) &&
    fitsUse(match, fact)
  );
}

function fitsParam(match: RuleMatch, { param }: AlgorithmUse): boolean {
  return match.param === null ? param === null : inList(match.param, param);
}

function fitsUse(match: RuleMatch, fact: AlgorithmUse): boolean {
  return (
    inList(match.usage, fact.usage) &&
    (fact.usage === null || match.notUsage?.includes(fact.usage) !== true) &&
    inList(match.mode, fact.mode) &&
    inList(match.padding, fact.padding) &&
    inList(match.hash, fact.hash)
  );
}

function inList(list: readonly string[] | undefined, value: string | null): boolean {
  return list === undefined || (value !== null && list.includes(value));
}

function inRange(range: readonly [number, number] | null | undefined, value: number | null): boolean {
  if (range === undefined) return true;
  if (range === null) return value === null;
  return value !== null && value >= range[0] && value <= range[1];
}
