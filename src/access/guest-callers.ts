import type { FastifyRequest } from 'fastify';
import { originOf } from '../platform/http/origin.js';
import type { Caller } from './caller.js';
import type { Scope } from './scopes.js';

const guests = new WeakMap<FastifyRequest, readonly Scope[]>();

/** A call without any credential is answered all the same, with these rights; one that shows a credential is judged by that. */
export function admitAsGuest(request: FastifyRequest, scopes: readonly Scope[]): void {
  guests.set(request, scopes);
}

/** The caller of a call that was admitted so: nobody by name, told apart by address. */
export function guestOf(request: FastifyRequest): Caller | undefined {
  const scopes = guests.get(request);
  if (scopes === undefined) return undefined;
  const id = `address:${request.ip}`;
  return { kind: 'anonymous', id, name: request.ip, ownerId: id, scopes: new Set(scopes), origin: originOf(request) };
}
