/** ProblemKind is a kind of error, independent of HTTP. problem.filter.ts maps the kind to a status code. */
export type ProblemKind =
  | 'malformed' // 400 cannot be parsed
  | 'unauthenticated' // 401
  | 'forbidden' // 403
  | 'missing' // 404 does not exist, or the caller may not see it
  | 'misdirected' // 421 the request was meant for another server
  | 'conflict' // 409 not allowed in the current state
  | 'stale' // 412 changed since the caller read it
  | 'unconditional' // 428 no precondition with the expected version
  | 'refused' // 422 valid, but rejected
  | 'overloaded' // 429
  | 'unavailable'; // 503 try again later

/** Fault is an error in the input, with its location: an RFC 6901 pointer into the body, or the name of a parameter. */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
  /** Column of the fault in its text, starting at 1. */
  readonly column?: number;
}

interface ProblemExtras {
  readonly errors?: Fault[];
  /** Seconds after which a retry may succeed (Retry-After). */
  readonly retryAfter?: number;
  /** URL path of the resource that the problem concerns (RFC 9457 `instance`). */
  readonly instance?: string;
  /** Scope that the caller lacks. */
  readonly scope?: string;
  /** Value of WWW-Authenticate (RFC 9110 section 11.6.1), unless a bearer token is required. */
  readonly challenge?: string;
  /** Audit record that replaces the generic `request.refused`. Never part of the response. */
  readonly audit?: RefusalRecord;
  readonly cause?: unknown;
}

/** RefusalRecord is the audit record of a refusal that `request.refused` does not describe sufficiently, such as a failed sign-in. */
export interface RefusalRecord {
  readonly action: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Problem is the only error that services throw intentionally. `code` is stable and documented in docs/errors.md. `message` is for the caller: the message
 * quotes the input and states the remedy, and never contains a secret, SQL or a path.
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

  /** Whether the same action may succeed later without a change by the caller. */
  get isTransient(): boolean {
    return this.kind === 'unavailable' || this.kind === 'overloaded';
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

/** missing returns the 404 Problem for a resource that does not exist or is not visible to the caller. The code is `<resource>.missing`. */
export function missing(resource: string): Problem {
  const name = NAMES[resource] ?? `${resource[0]?.toUpperCase()}${resource.slice(1).replaceAll('-', ' ')}`;
  return new Problem('missing', `${resource}.missing`, `${name} not found.`);
}
