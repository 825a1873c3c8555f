import type { Origin } from '../platform/http/origin.js';
import type { Scope } from './scopes.js';

/** Who did it. */
export interface Actor {
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'system' | 'anonymous';
  readonly id: string;
  readonly name: string;
}

/** The sign-in that a caller's token belongs to. */
export interface CallerSession {
  readonly id: string;
  /** When the person last showed a password or a factor; for a client, when it got the token. */
  readonly authenticatedAt: Date;
  /** When they last answered a step-up in this very session; null: never. */
  readonly steppedUpAt: Date | null;
  /** RFC 8176 words: pwd, otp, hwk, mfa. */
  readonly methods: readonly string[];
  /** The OAuth client that holds the token; null when the person signed in at the service itself. */
  readonly clientId: string | null;
  /** True when the credential is a browser's cookie. */
  readonly inBrowser: boolean;
}

/** Who is calling, with which rights, from where. The first argument of every service method that changes something. */
export interface Caller extends Actor {
  /** `anonymous` where a call is answered without a credential (guest-callers.ts). */
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'anonymous';
  /** The person behind it: the user, or the owner of the API key or OAuth client. */
  readonly ownerId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly origin: Origin;
  /** Absent for API keys. */
  readonly session?: CallerSession;
}
