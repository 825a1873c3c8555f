import { COMPOSED_FORMATS } from './key-use.port.js';
import type { PolicySubject } from './approval-subject.port.js';
import type { Condition } from './approval-policy.entity.js';
import { claimOfAnybody, isExceptionFact, type PolicyRules, verdictOf } from './policy-judgement.js';

/** A way in which a policy covers less than its author may expect. */
export const POLICY_WARNINGS = [
  'metadata-condition',
  'format-condition',
  'choice-condition',
  'record-condition',
  'caller-condition',
  'ignored-exception',
  'issuer-exception',
] as const;
export type PolicyWarningCode = (typeof POLICY_WARNINGS)[number];

export interface PolicyWarning {
  readonly code: PolicyWarningCode;
  /** The fact of the condition or exception. */
  readonly fact: string;
  /** How callers can bypass the policy, and how to prevent it. */
  readonly detail: string;
}

/** Facts that the requester chooses, by kind of subject. Metadata of signing requests and the records of hosts are checked separately. */
const CHOICES: Readonly<Record<PolicySubject, readonly string[]>> = {
  'signing-request': ['algorithm', 'scheme'],
  'ssh-rotation': ['metadata.custody'],
  'ssh-certificate': ['algorithm', 'metadata.keyId'],
};

/** policyWarningsOf returns how callers can bypass a policy through facts that they choose, and which of its exceptions never hold. */
export function policyWarningsOf(policy: PolicyRules): PolicyWarning[] {
  return [
    ...policy.conditions.flatMap((condition) => warningOfCondition(policy, condition) ?? []),
    ...policy.unless.filter(({ fact }) => !isExceptionFact(fact)).map(({ fact }) => ignored(fact)),
    ...warningOfIssuers(policy),
  ];
}

/** Warns if claims alone exempt runs from the policy, because every trusted issuer can assert any claim. */
function warningOfIssuers(policy: PolicyRules): PolicyWarning[] {
  const claim = claimOfAnybody(policy);
  if (claim === undefined) return [];
  const detail = `Every trusted issuer can assert "${claim.fact}", and users with settings:write can add issuers. Combine the claim with a condition on "verified.iss" or "trust". While several issuers are enabled, the claim alone does not exempt any run.`;
  return [{ code: 'issuer-exception', fact: claim.fact, detail }];
}

/** Facts from the record of a host or key. Anyone who may change hosts can set these facts. */
const ON_RECORD = /^metadata\.(?:environment|host|owner|label\..*)$/s;

function warningOfCondition({ subject }: PolicyRules, condition: Condition): PolicyWarning | undefined {
  const { fact, op } = condition;
  if (subject === 'signing-request' && fact === 'format') return warningOfFormats(condition);
  if (subject === 'signing-request' && fact.startsWith('metadata.'))
    return {
      code: 'metadata-condition',
      fact,
      detail: `Callers choose "${fact}", so a request with another value bypasses this policy. Use a condition on a verified fact, or remove the condition.`,
    };
  if (CHOICES[subject].includes(fact))
    return {
      code: 'choice-condition',
      fact,
      detail: `Callers choose "${fact}", so a request with another value bypasses this policy. Remove the condition, or restrict the use of the key.`,
    };
  if (subject === 'ssh-rotation' && ON_RECORD.test(fact))
    return {
      code: 'record-condition',
      fact,
      detail: `Users with hosts:write can change "${fact}" in the record, and operators have this scope as well as keys:rotate, so an operator who changes it before a rotation bypasses this policy. Remove the condition, or list the keys by fingerprint.`,
    };
  if (fact !== 'caller' || op !== 'in') return undefined;
  return {
    code: 'caller-condition',
    fact,
    detail:
      'Only the listed callers need approval, so a user whose own ID is not listed bypasses this policy with another API key. List the IDs of users, or remove the condition.',
  };
}

/** warningOfFormats warns about formats that bypass the policy. Signatures over a caller's digest meet every condition on the format, so only other formats are checked. */
function warningOfFormats(condition: Condition): PolicyWarning | undefined {
  const rules = { subject: 'signing-request' as const, keys: ['*'], conditions: [condition], unless: [] };
  const free = COMPOSED_FORMATS.filter(
    (format) => !verdictOf(rules, 'signing-request', { key: '', facts: { format: [format] } }).applies,
  );
  if (free.length === 0) return undefined;
  const detail = `Callers choose the format, so a request for ${free.join(', ')} bypasses this policy. Remove the condition, or restrict the formats of the key.`;
  return { code: 'format-condition', fact: 'format', detail };
}

function ignored(fact: string): PolicyWarning {
  const detail = `Callers choose "${fact}", so this exception never applies. Remove the exception, or use "caller", "trust" or "verified.<claim>".`;
  return { code: 'ignored-exception', fact, detail };
}
