import type { Actor } from '../audit/audit.service.js';
import type { Origin } from '../platform/http/origin.js';
import type { Scope } from './scopes.js';

/** Who is calling, with which rights, from where. The first argument of every service method that changes something. */
export interface Caller extends Actor {
  readonly kind: 'user' | 'api-key';
  /** The person behind it: the user, or the owner of the API key. */
  readonly ownerId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly origin: Origin;
}
