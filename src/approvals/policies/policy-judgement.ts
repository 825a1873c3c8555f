import { claimMatches, claimMayMatch } from '../../access/identity/claim-pattern.js';
import { isVerifiedFact } from '../../access/identity/verified-identity.js';
import type { KeyUseToApprove, PolicyFacts } from './key-use.port.js';
import type { PolicySubject } from './approval-subject.port.js';
import type { ApprovalPolicy, Condition } from './approval-policy.entity.js';

const WHOLE = '*';

/** The parts of a policy that determine to which uses the policy applies. */
export type PolicyRules = Pick<ApprovalPolicy, 'subject' | 'keys' | 'conditions' | 'unless'>;

/** A condition with the values of its fact in a use; empty if the use does not have the fact. */
export interface JudgedCondition extends Condition {
  readonly given: readonly string[];
  readonly holds: boolean;
}

/** The result of evaluating a policy for a use of a key, with the reasons. */
export interface PolicyVerdict {
  readonly applies: boolean;
  /** Whether the policy covers this kind of use and this key. */
  readonly guards: boolean;
  readonly conditions: readonly JudgedCondition[];
  readonly unless: readonly JudgedCondition[];
}

/**
 * Reports whether a policy applies to a use of a key. The API, the claim of a request that is about to be signed, and policy trials all use this
 * function. When in doubt, the policy applies: a condition on a missing fact is considered true, and an exception on a missing fact is considered false.
 */
export function verdictOf(policy: PolicyRules, kind: PolicySubject, use: KeyUseToApprove): PolicyVerdict {
  const names = [WHOLE, use.key, ...(use.formerKeys ?? [])];
  const guards = policy.subject === kind && policy.keys.some((name) => names.includes(name));
  const conditions = policy.conditions.map((condition) => judgedCondition(condition, use));
  const unless = policy.unless.map((condition) => judgedException(condition, use));
  const isExcepted = unless.length > 0 && unless.every(({ holds }) => holds);
  return { applies: guards && conditions.every(({ holds }) => holds) && !isExcepted, guards, conditions, unless };
}

/**
 * Returns the verdict for uses that belong together: the verdict for the first use to which the policy applies, otherwise the verdict for the first use. At
 * least one use is required.
 */
export function jointVerdictOf(
  policy: PolicyRules,
  kind: PolicySubject,
  uses: readonly KeyUseToApprove[],
): PolicyVerdict {
  const verdicts = uses.map((use) => verdictOf(policy, kind, use));
  const shown = verdicts.find(({ applies }) => applies) ?? verdicts[0];
  if (shown === undefined) throw new Error('a policy must be evaluated for at least one use');
  return shown;
}

/** Facts that restrict which issuers' claims an exception accepts. */
const NAMES_ISSUER: readonly string[] = ['verified.iss', 'trust', 'caller'];

/** Reports whether these conditions restrict which issuer asserts the other claims. */
function namesIssuer(conditions: readonly Condition[]): boolean {
  return conditions.some(({ fact, op }) => op === 'in' && NAMES_ISSUER.includes(fact));
}

const isClaim = ({ fact }: Condition) => fact.startsWith('verified.');
/** Reports whether a condition exempts runs with certain claims from the policy, as an exception does. */
const isFreeing = (condition: Condition) => condition.op === 'not-in' && isClaim(condition);

/** claimOfAnybody returns the condition that exempts runs of every issuer that asserts the claim; undefined if no condition does. */
export function claimOfAnybody({
  conditions,
  unless,
}: Pick<PolicyRules, 'conditions' | 'unless'>): Condition | undefined {
  const freeing = namesIssuer(conditions) ? undefined : conditions.find(isFreeing);
  return freeing ?? (namesIssuer(unless) ? undefined : unless.find(isClaim));
}

/**
 * rulesForIssuers returns the rules of a policy while several issuers are enabled: no run is exempted because of a claim that every issuer can
 * assert.
 */
export function rulesForIssuers({ conditions, unless }: PolicyRules): Pick<PolicyRules, 'conditions' | 'unless'> {
  return {
    conditions: namesIssuer(conditions) ? conditions : conditions.filter((condition) => !isFreeing(condition)),
    unless: namesIssuer(unless) || !unless.some(isClaim) ? unless : [],
  };
}

/** Reports whether an exception may depend on a fact: only verified or authenticated facts, never facts that the caller chooses. */
export function isExceptionFact(fact: string): boolean {
  return fact === 'caller' || isVerifiedFact(fact);
}

function judgedCondition(condition: Condition, { facts, interchangeable = [] }: KeyUseToApprove): JudgedCondition {
  const judgement = judged(condition, facts, true);
  return interchangeable.includes(condition.fact) ? { ...judgement, holds: true } : judgement;
}

/** Earlier versions stored exceptions on any fact. Exceptions that are now rejected never apply. */
function judgedException(condition: Condition, { facts }: KeyUseToApprove): JudgedCondition {
  const judgement = judged(condition, facts, false);
  return isExceptionFact(condition.fact) ? judgement : { ...judgement, holds: false };
}

/**
 * Evaluates a condition for a use. `whenUnknown` is the result for a use that does not have the fact. If the values of a fact lead to different
 * results, or a pattern is undecidable for a value, the result favors the policy: a condition holds if any value satisfies the condition, and an exception
 * holds only if all values satisfy the exception. If the values require more than MAX_COMPARISONS comparisons, the result is `whenUnknown`.
 */
function judged({ fact, op, values }: Condition, facts: PolicyFacts, whenUnknown: boolean): JudgedCondition {
  const given = Object.hasOwn(facts, fact) ? (facts[fact] ?? []) : [];
  const ofClaim = whenUnknown === (op === 'in') ? claimMayMatch : claimMatches;
  const fits = isVerifiedFact(fact) ? ofClaim : beginsOrIs;
  if (given.length * values.length > MAX_COMPARISONS) return { fact, op, values, given, holds: whenUnknown };
  const isListed = (value: string) => values.some((wanted) => fits(wanted, value));
  const results = NAMES_OF_ONE.has(fact) ? [given.some(isListed)] : given.map(isListed);
  const holds = results.map((listed) => listed === (op === 'in'));
  const isUnclear = given.length === 0 || new Set(holds).size > 1;
  return { fact, op, values, given, holds: isUnclear ? whenUnknown : holds[0] === true };
}

/**
 * Maximum number of comparisons of fact values with condition values, because callers choose the length of some lists, and each comparison splits both strings.
 */
const MAX_COMPARISONS = 2500;

/**
 * Facts whose values all identify the same subject: a caller and the person behind the caller, a trust and its ID, a host name as written and in lower case.
 */
const NAMES_OF_ONE = new Set(['caller', 'trust', 'metadata.principal']);

function beginsOrIs(wanted: string, value: string): boolean {
  return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
}
