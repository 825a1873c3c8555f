import { claimValues, type Claims, unmetCondition } from '../../access/identity/verified-identity.js';
import { Problem } from '../../platform/errors/problem.js';
import type { LoginSubject, SshLoginRule } from '../certificate-authority/ssh-login-rule.entity.js';

/** `{claim}`, `{/pointer/to/claim}`, or `{email:local}`: what stands before the @ of a claim. */
const CLAIM = /\{([^{}:]{1,200})(:local)?\}/g;
/** What a claim may add to a name: nothing that has a meaning to sshd, to a shell or in a path. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** A principal as a rule may have it, with each claim as if it were a letter. */
const NAME = /^[A-Za-z0-9_.@:-]{1,255}$/;
/** Accounts that no claim can name: whoever may be called that elsewhere would be root here. */
const RESERVED = new Set(['root', 'toor', 'admin', 'administrator']);

/** Why a text cannot be a principal of a rule; undefined if it can. */
export function faultOfPrincipal(text: string): string | undefined {
  return NAME.test(text.replaceAll(CLAIM, 'x')) ? undefined : 'is neither a name, nor a name with claims in braces';
}

/**
 * The principals of a certificate by a rule. A claim in braces must have exactly one value, of letters, digits and `_ . -`; a name that a
 * claim is part of is never that of an administrator.
 *
 * @throws Problem `ssh-login.principal`
 */
export function principalsOf(rule: Pick<SshLoginRule, 'name' | 'principals'>, claims: Claims): string[] {
  const made = rule.principals.map((text) => {
    if (!text.includes('{')) return text;
    const name = text.replaceAll(CLAIM, (_whole, claim: string, local?: string) =>
      partOf(rule, claims, { claim, local }),
    );
    if (RESERVED.has(name.toLowerCase())) throw refused(rule, `would open the account ${name} by a claim`);
    return name;
  });
  return [...new Set(made)];
}

/** The rule that is about this caller; with several the caller has to name one. Problems `ssh-login.no-rule`, `ssh-login.which`. */
export function ruleFor<Rule extends Pick<SshLoginRule, 'id' | 'name' | 'conditions'>>(
  rules: readonly Rule[],
  claims: Claims,
  named: string | undefined,
): Rule {
  const asked = named === undefined ? rules : rules.filter(({ id, name }) => name === named || id === named);
  const [met, ...more] = asked.filter(({ conditions }) => unmetCondition(conditions, claims) === undefined);
  if (met === undefined)
    throw new Problem('forbidden', 'ssh-login.no-rule', 'No rule gives you an SSH certificate. Ask an administrator.');
  if (more.length === 0) return met;
  const names = [met, ...more].map(({ name }) => name).join(', ');
  throw new Problem('conflict', 'ssh-login.which', `Several rules give you a certificate. Name one of ${names}.`);
}

/** Why a rule gives a caller no certificate. */
export const RULE_FAULTS = ['disabled', 'subject', 'claim', 'principal'] as const;

/** What a rule makes of claims. */
export interface RuleVerdict {
  readonly rule: Pick<SshLoginRule, 'id' | 'name'>;
  readonly accepted: boolean;
  readonly fault?: (typeof RULE_FAULTS)[number];
  /** Of the fault `claim`: the claim, what it must be, and what it is. */
  readonly claim?: string;
  readonly wanted?: readonly string[];
  readonly given?: readonly string[];
  /** Of the fault `principal`. */
  readonly detail?: string;
  /** Principals of the certificate. */
  readonly principals: readonly string[];
}

/** What one rule makes of the claims of a caller, and the first reason where it gives nothing. */
export function ruleVerdict(
  { id, name, enabled, subject, conditions, principals }: TriedRule,
  caller: { readonly subject: LoginSubject; readonly claims: Claims },
): RuleVerdict {
  const verdict = { rule: { id, name }, accepted: false, principals: [] };
  if (!enabled) return { ...verdict, fault: 'disabled' };
  if (subject !== caller.subject) return { ...verdict, fault: 'subject' };
  const unmet = unmetCondition(conditions, caller.claims);
  if (unmet !== undefined) {
    const { claim, values: wanted } = unmet;
    return { ...verdict, fault: 'claim', claim, wanted, given: claimValues(caller.claims, claim) };
  }
  try {
    return { ...verdict, accepted: true, principals: principalsOf({ name, principals }, caller.claims) };
  } catch (error) {
    if (error instanceof Problem) return { ...verdict, fault: 'principal', detail: error.message };
    throw error;
  }
}

type TriedRule = Pick<SshLoginRule, 'id' | 'name' | 'enabled' | 'subject' | 'conditions' | 'principals'>;

function partOf(
  rule: Pick<SshLoginRule, 'name'>,
  claims: Claims,
  { claim, local }: { claim: string; local: string | undefined },
): string {
  const [value, ...more] = claimValues(claims, claim);
  if (value === undefined || more.length > 0) throw refused(rule, `requires one value of the claim ${claim}`);
  const part = local === undefined ? value : (/^([^@]+)@[^@]+$/.exec(value)?.[1] ?? '');
  if (PLAIN.test(part)) return part;
  throw refused(rule, `cannot derive a name from the claim ${claim}`);
}

function refused({ name }: Pick<SshLoginRule, 'name'>, why: string): Problem {
  return new Problem('forbidden', 'ssh-login.principal', `The rule "${name}" ${why}.`);
}
