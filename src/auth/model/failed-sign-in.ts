import { Problem } from '../../platform/errors/problem.js';
import { isPlainAddress } from './plain-address.js';
import { canonical } from './users.service.js';

/** SignInAttempt describes a failed sign-in. */
export interface SignInAttempt {
  readonly way: string;
  /** The email address as typed. */
  readonly account?: string | undefined;
  readonly provider?: { readonly id: string; readonly name: string } | undefined;
  /** The provider's verified identifier for the person. */
  readonly subject?: string | undefined;
  /** The authentication contexts that the provider reported. */
  readonly contexts?: readonly string[] | undefined;
  /** True for step-up authentication within an existing session. */
  readonly isStepUp?: boolean | undefined;
}

/** Returns the same problem with the facts that the audit log records about a failed sign-in. */
export function failedSignIn(problem: Problem, attempt: SignInAttempt): Problem {
  const { kind, code, message, errors, retryAfter, instance, scope, cause } = problem;
  const { way, provider, subject, contexts, isStepUp } = attempt;
  const account = attempt.account === undefined ? undefined : auditableAccount(attempt.account);
  const detail = { way, account, provider: provider?.name, subject, contexts, stepUp: isStepUp };
  const target =
    provider === undefined ? { kind: 'account', id: account ?? '' } : { kind: 'identity-provider', id: provider.id };
  const audit = { action: 'auth.sign-in-failed', target, detail: { ...detail, reason: storable(message) } };
  const extras = { errors, retryAfter, instance, scope, cause, audit };
  return new Problem(
    kind,
    code,
    message,
    Object.fromEntries(Object.entries(extras).filter(([, value]) => value !== undefined)),
  );
}

/** Returns a message that PostgreSQL can store in JSON. Messages quote user input, which may contain NUL or lone surrogates, and the entry must not be lost. */
function storable(message: string): string {
  return message.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Returns the account name to record. Text that is not an email address is omitted, because users sometimes type their password into the wrong field. */
function auditableAccount(typed: string): string {
  const account = canonical(typed);
  return isPlainAddress(account) ? account : '(not an email address)';
}
