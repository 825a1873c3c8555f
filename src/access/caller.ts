import { createHash } from 'node:crypto';
import { type Origin, originOf } from '../platform/http/origin.js';
import type { Scope } from './scopes.js';
import type { FastifyRequest } from 'fastify';
import type { VerifiedIdentity } from './identity/verified-identity.js';

/** The subject of an audit entry: a person, an API key, an OAuth client, the run of a workload or a component of the service. */
export interface Actor {
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'workload' | 'system' | 'anonymous';
  readonly id: string;
  readonly name: string;
}

/** The key to which a token is bound: a caller must prove possession of it (RFC 7800 section 3.1, `cnf`). */
export interface TokenBinding {
  /** `jkt`: the thumbprint of the key that signs DPoP proofs (RFC 9449 section 6.1). */
  readonly dpopKey?: string;
  /** `x5t#S256`: SHA-256 of the certificate that the client shows in TLS (RFC 8705 section 3.1), base64url. */
  readonly certificate?: string;
}

/** The session of a caller's token or cookie. */
export interface CallerSession {
  readonly id: string;
  /** When the person last showed a password or a factor; for a client, when it got the token. */
  readonly authenticatedAt: Date;
  /** When they last answered a step-up in this very session; null: never. */
  readonly steppedUpAt: Date | null;
  /** Authentication methods (RFC 8176): pwd, otp, hwk, mfa. */
  readonly methods: readonly string[];
  /** The OAuth client that has the token; null if the person signed in at the service itself. */
  readonly clientId: string | null;
  /** True when the credential is a browser's cookie. */
  readonly inBrowser: boolean;
  /** Empty for a bearer token. */
  readonly boundTo: TokenBinding;
}

/** The authenticated subject of a call, with its rights and origin. First argument of every service method that changes something. */
export interface Caller extends Actor {
  /** `anonymous` where a call is answered without a credential (`admitAsGuest`). */
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'workload' | 'anonymous';
  /** The person behind the caller: the user, the owner of the API key or OAuth client, or the last person who changed the trust of the workload. */
  readonly ownerId: string;
  /** Ids of the other people who may know the credential. The credential and everything it creates are limited to their rights as well. */
  readonly behind?: readonly string[];
  readonly scopes: ReadonlySet<Scope>;
  readonly origin: Origin;
  /** Absent for API keys. */
  readonly session?: CallerSession;
  /** Only for workloads: the claims about this run that the issuer proved. */
  readonly identity?: VerifiedIdentity;
  /** Names of the signing keys that the caller may use, `*` for every key; absent: no such limit. */
  readonly keys?: readonly string[];
  /** The scopes that this call requires; absent for operations that require none. */
  readonly using?: readonly Scope[];
  /** Set where an order is carried out later, without the session of the call. */
  readonly ordered?: Pick<OrderedBy, 'requesters' | 'credentials'>;
}

/** OrderedBy describes the caller of an order that is carried out later, without the caller's session. It is stored with the order. */
export interface OrderedBy extends Actor {
  /** As in Caller. */
  readonly behind?: readonly string[];
  /** Ids of everyone who could have made the call. Absent in orders of an earlier version. */
  readonly requesters?: readonly string[];
  /** Ids of the API keys and OAuth clients through which the call was made. Absent in orders of an earlier version. */
  readonly credentials?: readonly string[];
}

/** orderedBy returns what is stored about the caller of an order. `requesters`: see `peopleBehind`. */
export function orderedBy(caller: Caller, requesters: readonly string[]): OrderedBy {
  const { kind, id, name, behind = [] } = caller;
  return { kind, id, name, behind: [...behind], requesters: [...requesters], credentials: credentialsOf(caller) };
}

/** callerOfOrder returns the caller in whose name a stored order is carried out. The caller has no rights. */
export function callerOfOrder(
  { kind, id, name, behind = [], requesters, credentials }: OrderedBy,
  order: Pick<Caller, 'ownerId' | 'origin' | 'using'>,
): Caller {
  const isSystem = kind === 'system' || kind === 'anonymous';
  const ordered = { requesters, credentials };
  return { ...order, kind: isSystem ? 'api-key' : kind, id, name, behind, ordered, scopes: new Set() };
}

/**
 * giverOf returns the id whose rights an order has: the caller's if their rights are stored, else the owner's. The rights of a workload are those of
 * the person who trusts it.
 */
export function giverOf({ kind, id }: Pick<Actor, 'kind' | 'id'>, ownerId: string): string {
  return kind === 'user' || kind === 'api-key' || kind === 'oauth-client' ? id : ownerId;
}

/** giversOf returns the ids of the users, API keys and OAuth clients that must all hold a right for an order to be carried out. */
export function giversOf({ kind, id, behind = [], credentials = [] }: OrderedBy, ownerId: string): string[] {
  return [...new Set([giverOf({ kind, id }, ownerId), ownerId, ...behind, ...credentials])];
}

/** othersBehindOrder returns the ids besides the caller's that must hold a right for an order of the caller to be carried out; null if there are none. */
export function othersBehindOrder(caller: Caller): string[] | null {
  const others = giversOf(orderedBy(caller, []), caller.ownerId).filter((id) => id !== caller.id);
  return others.length === 0 ? null : others.sort();
}

/** credentialsOf returns the ids of the API keys and OAuth clients through which a call was made. */
export function credentialsOf({ kind, id, session, ordered }: Caller): string[] {
  const own = kind === 'api-key' || kind === 'oauth-client' ? [id] : [];
  const client = kind === 'user' && session?.clientId ? [session.clientId] : [];
  return [...new Set([...own, ...client, ...(ordered?.credentials ?? [])])];
}

/** The part of a request that identifies its owner. */
interface AskedFor {
  readonly ownerId: string;
  readonly identity: VerifiedIdentity | null;
}

/**
 * Reports whether a request belongs to the caller, because the same person is behind both. A workload sees only its own requests, of this or another run,
 * since one person can be behind many workloads.
 */
export function isOwnedBy(caller: Caller, { ownerId, identity }: AskedFor): boolean {
  if (ownerId !== caller.ownerId) return false;
  return caller.kind !== 'workload' || (identity !== null && workloadOf(identity) === principalOf(caller));
}

/** Who repeats a call with the same Idempotency-Key: the caller; of a workload each of its runs. */
export function principalOf({ id, identity }: Pick<Caller, 'id' | 'identity'>): string {
  return identity === undefined ? id : workloadOf(identity);
}

/** A workload across its runs: the trust and the subject of its tokens. */
function workloadOf({ trust, claims }: VerifiedIdentity): string {
  return `${trust.id} ${createHash('sha256').update(String(claims['sub'])).digest('base64url')}`;
}

const guests = new WeakMap<FastifyRequest, readonly Scope[]>();

/** Admits a call without any credential, with these rights; a call with a credential is judged by that. */
export function admitAsGuest(request: FastifyRequest, scopes: readonly Scope[]): void {
  guests.set(request, scopes);
}

/** The caller of a call that was admitted as a guest: anonymous, identified by address. */
export function guestOf(request: FastifyRequest): Caller | undefined {
  const scopes = guests.get(request);
  if (scopes === undefined) return undefined;
  const id = `address:${request.ip}`;
  return { kind: 'anonymous', id, name: request.ip, ownerId: id, scopes: new Set(scopes), origin: originOf(request) };
}
