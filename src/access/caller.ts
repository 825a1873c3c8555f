import { createHash } from 'node:crypto';
import { type Origin, originOf } from '../platform/http/origin.js';
import type { Scope } from './scopes.js';
import type { FastifyRequest } from 'fastify';
import type { VerifiedIdentity } from './identity/verified-identity.js';

/** The subject of an audit entry: a person, an API key, an OAuth client, a workload run or a component of the service. */
export interface Actor {
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'workload' | 'system' | 'anonymous';
  readonly id: string;
  readonly name: string;
}

/** The key to which a token is bound. A caller must prove possession of the key (RFC 7800 section 3.1, `cnf`). */
export interface TokenBinding {
  /** `jkt`: the thumbprint of the key that signs DPoP proofs (RFC 9449 section 6.1). */
  readonly dpopKey?: string;
  /** `x5t#S256`: SHA-256 of the client certificate in TLS (RFC 8705 section 3.1), base64url. */
  readonly certificate?: string;
}

/** The session to which the caller's token or cookie belongs. */
export interface CallerSession {
  readonly id: string;
  /** Time at which the person last presented a password or a second factor; for a client, the time at which the token was issued. */
  readonly authenticatedAt: Date;
  /** Time of the last step-up in this session; null if there was no step-up. */
  readonly steppedUpAt: Date | null;
  /** Authentication methods (RFC 8176): pwd, otp, hwk, mfa. */
  readonly methods: readonly string[];
  /** ID of the OAuth client to which the token was issued; null if the person signed in to the service itself. */
  readonly clientId: string | null;
  /** Whether the credential is a browser cookie. */
  readonly inBrowser: boolean;
  /** The key to which the token is bound; empty for a bearer token. */
  readonly boundTo: TokenBinding;
}

/**
 * The authenticated subject of a call, with the subject's rights and the call's origin. A caller is the first argument of every service method that changes
 * state.
 */
export interface Caller extends Actor {
  /** `anonymous` if the call is served without a credential (`admitAsGuest`). */
  readonly kind: 'user' | 'api-key' | 'oauth-client' | 'workload' | 'anonymous';
  /** The person behind the caller: the user, the owner of the API key or OAuth client, or the person who last changed the workload's trust. */
  readonly ownerId: string;
  /** IDs of the other people who may know the credential. The credential, and everything created with it, is limited to the rights of these people as well. */
  readonly behind?: readonly string[];
  readonly scopes: ReadonlySet<Scope>;
  readonly origin: Origin;
  /** The caller's session; absent for API keys. */
  readonly session?: CallerSession;
  /** Workloads only: the verified claims about this run. */
  readonly identity?: VerifiedIdentity;
  /** Names and patterns of the signing keys that the caller can use (`includesKey`). If omitted, the caller can use every key. */
  readonly keys?: readonly string[];
  /** The scopes that the call requires; absent if the call requires none. */
  readonly using?: readonly Scope[];
  /** Set when a stored request is executed later, outside the session in which the request was made. */
  readonly ordered?: Pick<OrderedBy, 'requesters' | 'credentials'>;
}

/** OrderedBy describes the caller of a request that is executed later, outside the caller's session. OrderedBy is stored with the request. */
export interface OrderedBy extends Actor {
  /** See `Caller.behind`. */
  readonly behind?: readonly string[];
  /** IDs of everyone who could have made the call. Absent in requests stored by earlier versions. */
  readonly requesters?: readonly string[];
  /** IDs of the API keys and OAuth clients through which the call was made. Absent in requests stored by earlier versions. */
  readonly credentials?: readonly string[];
}

/** orderedBy returns the description of the caller that is stored with a request. `requesters` is the result of `peopleBehind`. */
export function orderedBy(caller: Caller, requesters: readonly string[]): OrderedBy {
  const { kind, id, name, behind = [] } = caller;
  return { kind, id, name, behind: [...behind], requesters: [...requesters], credentials: credentialsOf(caller) };
}

/** callerOfOrder returns the caller on whose behalf a stored request is executed. The returned caller has no scopes. */
export function callerOfOrder(
  { kind, id, name, behind = [], requesters, credentials }: OrderedBy,
  order: Pick<Caller, 'ownerId' | 'origin' | 'using'>,
): Caller {
  const isSystem = kind === 'system' || kind === 'anonymous';
  const ordered = { requesters, credentials };
  return { ...order, kind: isSystem ? 'api-key' : kind, id, name, behind, ordered, scopes: new Set() };
}

/**
 * giverOf returns the ID of the user, API key or OAuth client whose rights a request has: the caller's ID if the caller is one of these, otherwise the owner's
 * ID. A workload has the rights of the person who last changed the workload's trust.
 */
export function giverOf({ kind, id }: Pick<Actor, 'kind' | 'id'>, ownerId: string): string {
  return kind === 'user' || kind === 'api-key' || kind === 'oauth-client' ? id : ownerId;
}

/** giversOf returns the IDs of the users, API keys and OAuth clients that must all have a right for a request to be executed. */
export function giversOf({ kind, id, behind = [], credentials = [] }: OrderedBy, ownerId: string): string[] {
  return [...new Set([giverOf({ kind, id }, ownerId), ownerId, ...behind, ...credentials])];
}

/**
 * othersBehindOrder returns the IDs of the users, API keys and OAuth clients, other than the caller, that must also have a right for the caller's request to be
 * executed; null if there are no other users, keys or clients.
 */
export function othersBehindOrder(caller: Caller): string[] | null {
  const others = giversOf(orderedBy(caller, []), caller.ownerId).filter((id) => id !== caller.id);
  return others.length === 0 ? null : others.sort();
}

/** credentialsOf returns the IDs of the API keys and OAuth clients through which a call was made. */
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
 * Reports whether the person behind the caller also owns the request. A workload owns only the requests of its own runs, because one person can be behind many
 * workloads.
 */
export function isOwnedBy(caller: Caller, { ownerId, identity }: AskedFor): boolean {
  if (ownerId !== caller.ownerId) return false;
  return caller.kind !== 'workload' || (identity !== null && workloadOf(identity) === principalOf(caller));
}

/** Returns the identity within which an Idempotency-Key is unique: the ID of the caller or, for a workload, an identifier that all its runs share. */
export function principalOf({ id, identity }: Pick<Caller, 'id' | 'identity'>): string {
  return identity === undefined ? id : workloadOf(identity);
}

/** Returns an identifier that all runs of a workload share: the ID of its trust and the hash of its token's subject. */
function workloadOf({ trust, claims }: VerifiedIdentity): string {
  return `${trust.id} ${createHash('sha256').update(String(claims['sub'])).digest('base64url')}`;
}

const guests = new WeakMap<FastifyRequest, readonly Scope[]>();

/** Admits a request that has no credential, and grants the given scopes to the request. A request with a credential is authorized by that credential. */
export function admitAsGuest(request: FastifyRequest, scopes: readonly Scope[]): void {
  guests.set(request, scopes);
}

/** Returns the anonymous caller, identified by IP address, of a request that `admitAsGuest` admitted; undefined for other requests. */
export function guestOf(request: FastifyRequest): Caller | undefined {
  const scopes = guests.get(request);
  if (scopes === undefined) return undefined;
  const id = `address:${request.ip}`;
  return { kind: 'anonymous', id, name: request.ip, ownerId: id, scopes: new Set(scopes), origin: originOf(request) };
}
