/** Kinds of errors, independent of HTTP; problem.filter.ts maps them to a status. */
export type ProblemKind =
  | 'malformed' // 400 cannot be read as what it should be
  | 'unauthenticated' // 401
  | 'forbidden' // 403
  | 'missing' // 404, also for what the caller may not see
  | 'misdirected' // 421 this is not the server that was meant
  | 'conflict' // 409 the state does not allow it
  | 'stale' // 412 it was changed since the caller saw it
  | 'unconditional' // 428 the caller did not say which version it changes
  | 'refused' // 422 understood, but not done
  | 'overloaded' // 429
  | 'unavailable'; // 503 try again later

/** One fault of the input: where (RFC 6901 pointer into the body, or the parameter's name) and what. */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
  /** Where in a text, from 1. */
  readonly column?: number;
}

interface ProblemExtras {
  readonly errors?: Fault[];
  /** Seconds after which a retry makes sense (Retry-After). */
  readonly retryAfter?: number;
  /** URL path of the resource that the problem is about (RFC 9457 `instance`). */
  readonly instance?: string;
  /** Scope that the caller lacks. */
  readonly scope?: string;
  /** What WWW-Authenticate asks for (RFC 9110 section 11.6.1), where that is no bearer token. */
  readonly challenge?: string;
  /** What the audit log records instead of a plain `request.refused`. It is never part of the answer. */
  readonly audit?: RefusalRecord;
  readonly cause?: unknown;
}

/** RefusalRecord is what the audit log records about a refusal that has more to say than its operation, such as a failed sign-in. */
export interface RefusalRecord {
  readonly action: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * The one error that services throw. `code` is stable and explained in docs/errors.md;
 * `message` is for the caller: it quotes what was sent and says what to do, and never holds a secret, SQL or a path.
 */
export class Problem extends Error {
  readonly errors?: Fault[];
  readonly retryAfter?: number;
  readonly instance?: string;
  readonly scope?: string;
  readonly challenge?: string;
  readonly audit?: RefusalRecord;

  constructor(
    readonly kind: ProblemKind,
    readonly code: string,
    message: string,
    extras: ProblemExtras = {},
  ) {
    super(message, { cause: extras.cause });
    this.name = 'Problem';
    this.errors = extras.errors;
    this.retryAfter = extras.retryAfter;
    this.instance = extras.instance;
    this.scope = extras.scope;
    this.challenge = extras.challenge;
    this.audit = extras.audit;
  }
}

/** NAMES holds the display names of resources whose name cannot be derived from their code, such as `api-key`. */
const NAMES: Readonly<Record<string, string>> = {
  'api-key': 'API key',
  'oauth-client': 'OAuth client',
  rule: 'Risk rule',
  rotation: 'SSH key rotation',
  'second-factor': 'Authenticator',
  snapshot: 'Inventory snapshot',
  'ssh-ca': 'SSH authority',
  'ssh-key': 'SSH key',
  'ssh-login-rule': 'SSH login rule',
  view: 'Saved view',
  webhook: 'Webhook endpoint',
};

/** missing returns the 404 Problem for a resource that does not exist or that the caller may not see. The code is `<resource>.missing`. */
export function missing(resource: string): Problem {
  const name = NAMES[resource] ?? `${resource[0]?.toUpperCase()}${resource.slice(1).replaceAll('-', ' ')}`;
  return new Problem('missing', `${resource}.missing`, `${name} not found.`);
}
