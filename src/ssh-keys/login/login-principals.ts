import {
  type ClaimCondition,
  claimValues,
  type Claims,
  unmetCondition,
} from '../../access/identity/verified-identity.js';
import { Problem } from '../../platform/errors/problem.js';
import type { LoginSubject, SshLoginRule } from '../certificate-authority/ssh-login-rule.entity.js';

/** Matches `{claim}`, `{/pointer/to/claim}`, and `{email:local}`, which is the part of a claim before the @. */
const CLAIM = /\{([^{}:]{1,200})(:local)?\}/g;
/** Matches values that a claim may contribute to a name. The pattern excludes characters with a special meaning to sshd, in a shell or in a path. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** Matches a principal of a rule in which each claim has been replaced by a letter. */
const NAME = /^[A-Za-z0-9_.@:-]{1,255}$/;
/**
 * Account names that claims must not produce: administrators, accounts that operating system and cloud images create with sudo rights, and service accounts.
 * Otherwise, a user with such a name at the identity provider could log in to that account on the host.
 */
const RESERVED: ReadonlySet<string> = new Set(
  [
    'root toor admin administrator wheel sudo operator system',
    'adminuser almalinux alpine arch azureuser bitnami centos cloud cloud-user clouduser core debian ec2-user fedora freebsd',
    'gcp-user kali netbsd nixos opc openbsd opensuse oracle pi rancher raspberry redhat rhel rocky suse ubuntu user vagrant',
    'ansible backup bin chef cron daemon docker elasticsearch ftp git gitlab-runner grafana halt http httpd jenkins kafka kube',
    'kubernetes ldap lp mail mongodb mysql nagios named nginx nobody ntp polkitd postfix postgres prometheus puppet rabbitmq',
    'redis rsync runner salt shutdown sshd sync sys systemd-network systemd-resolve terraform tomcat www www-data zabbix',
  ].flatMap((line) => line.split(' ')),
);

/** Returns the reason why a string cannot be a principal of a rule, or undefined if the string is valid. */
export function faultOfPrincipal(text: string): string | undefined {
  return NAME.test(text.replaceAll(CLAIM, 'x'))
    ? undefined
    : 'must be a name, or a name that contains claims in braces';
}

/** Reports whether a principal consists only of claims, so that the claims alone determine the account on the host. */
export function isOnlyClaims(principal: string): boolean {
  return principal.replaceAll(CLAIM, '') === '';
}

/**
 * Returns the principals of a certificate issued by a rule. A claim in braces must have exactly one value, which contains only letters, digits and `_ . -`. A
 * name that contains a claim must not be the name of an account that most hosts have.
 *
 * @throws Problem `ssh-login.principal`
 */
export function principalsOf(rule: Pick<SshLoginRule, 'name' | 'principals'>, claims: Claims): string[] {
  const made = rule.principals.map((text) => {
    if (!text.includes('{')) return text;
    const name = text.replaceAll(CLAIM, (_whole, claim: string, local?: string) =>
      partOf(rule, claims, { claim, local }),
    );
    if (RESERVED.has(name.toLowerCase()))
      throw refused(rule, `derives "${name}" from a claim, but that account name is reserved`);
    return name;
  });
  return [...new Set(made)];
}

/**
 * Names of the claims that identify who asserts the other claims. A rule must have a condition on at least one of these claims. Undefined if no other issuer or
 * provider could assert the claims.
 */
export type RequiredOrigin = readonly [string, ...string[]] | undefined;

/** LoginClaims describes a caller as input to the rules. */
export interface LoginClaims {
  readonly subject: LoginSubject;
  readonly claims: Claims;
  readonly origin?: RequiredOrigin;
}

/**
 * Returns the first condition that the claims do not meet. If a condition on the origin is required and the rule has none, returns a condition on the origin.
 */
function unmetOf(
  conditions: readonly ClaimCondition[],
  { subject, claims, origin }: LoginClaims,
): ClaimCondition | undefined {
  if (origin !== undefined && !conditions.some(({ claim }) => origin.includes(claim)))
    return { claim: origin[0], values: [] };
  return unmetCondition(conditions, claims, subject === 'person' ? 'some' : 'every');
}

/** Returns the rule that matches the caller. If several rules match, the caller must name one. Throws Problem `ssh-login.no-rule` or `ssh-login.which`. */
export function ruleFor<Rule extends Pick<SshLoginRule, 'id' | 'name' | 'conditions'>>(
  rules: readonly Rule[],
  caller: LoginClaims,
  named: string | undefined,
): Rule {
  const asked = named === undefined ? rules : rules.filter(({ id, name }) => name === named || id === named);
  const [met, ...more] = asked.filter(({ conditions }) => unmetOf(conditions, caller) === undefined);
  if (met === undefined)
    throw new Problem(
      'forbidden',
      'ssh-login.no-rule',
      'No rule allows you to request an SSH certificate. Contact an administrator.',
    );
  if (more.length === 0) return met;
  const names = [met, ...more].map(({ name }) => name).join(', ');
  throw new Problem(
    'conflict',
    'ssh-login.which',
    `Several rules allow you to request a certificate. Specify one of: ${names}.`,
  );
}

/** RULE_FAULTS are the reasons why a rule does not issue a certificate to a caller. */
export const RULE_FAULTS = ['disabled', 'subject', 'claim', 'principal'] as const;

/** RuleVerdict is the result of applying a rule to claims. */
export interface RuleVerdict {
  readonly rule: Pick<SshLoginRule, 'id' | 'name'>;
  readonly accepted: boolean;
  readonly fault?: (typeof RULE_FAULTS)[number];
  /** For fault `claim`: name of the claim, its required values, and its actual values. */
  readonly claim?: string;
  readonly wanted?: readonly string[];
  readonly given?: readonly string[];
  /** For fault `principal`: reason of the fault. */
  readonly detail?: string;
  /** Principals of the certificate. */
  readonly principals: readonly string[];
}

/** Applies one rule to the claims of a caller. If the rule issues no certificate, the verdict contains the first reason. */
export function ruleVerdict(
  { id, name, enabled, subject, conditions, principals }: TriedRule,
  caller: LoginClaims,
): RuleVerdict {
  const verdict = { rule: { id, name }, accepted: false, principals: [] };
  if (!enabled) return { ...verdict, fault: 'disabled' };
  if (subject !== caller.subject) return { ...verdict, fault: 'subject' };
  const unmet = unmetOf(conditions, caller);
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
  if (value === undefined || more.length > 0) throw refused(rule, `requires exactly one value of the ${claim} claim`);
  const part = local === undefined ? value : (/^([^@]+)@[^@]+$/.exec(value)?.[1] ?? '');
  if (PLAIN.test(part)) return part;
  throw refused(rule, `cannot derive a name from the ${claim} claim`);
}

function refused({ name }: Pick<SshLoginRule, 'name'>, why: string): Problem {
  return new Problem('forbidden', 'ssh-login.principal', `Rule "${name}" ${why}.`);
}
