import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import { Problem } from '../../../platform/errors/problem.js';
import { RateLimits } from '../../../platform/http/rate-limits.js';
import { ACCESS, type Access, type CalledRequest, FRESH } from '../../../access/access.js';
import { type Caller, principalOf } from '../../../access/caller.js';
import { Credentials } from './credentials.js';
import { assertScope } from '../../../access/scopes.js';

/** AccessGuard authenticates and authorizes every call. It denies by default: a handler that declares no access cannot be called. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly credentials: Credentials,
    private readonly rates: RateLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.get<Access | undefined>(ACCESS, context.getHandler());
    if (access === undefined)
      throw new Error(`${context.getClass().name}.${context.getHandler().name} has no access declaration`);
    if (access.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<CalledRequest>();
    request.caller = await this.credentials.callerOfRequest(request);
    // All runs of a workload share a quota, because a job can request any number of tokens.
    request.principal = principalOf(request.caller);
    this.rates.take(request.principal, context.switchToHttp().getResponse<FastifyReply>());
    assertMay(request.caller, access);
    request.reauthorize = async () => assertMay(await this.credentials.callerOfRequest(request), access);
    if (this.reflector.get<boolean | undefined>(FRESH, context.getHandler()) === true) {
      request.caller = await this.freshCaller(request, request.caller);
      assertMay(request.caller, access);
    }
    if (access.kind === 'scopes') request.caller = { ...request.caller, using: access.scopes };
    return true;
  }

  /**
   * Reads the credential from the database, bypassing the cache, for operations with a lasting effect. While a process still has the old credential cached, a
   * person who was just disabled or demoted must not be able to undo the change or create a lasting credential. The row also contains the time of the last
   * step-up.
   */
  private async freshCaller(request: CalledRequest, caller: Caller): Promise<Caller> {
    const again = await this.credentials.callerAgain(caller, request);
    if (isFresh(again)) return again;
    const detail =
      'This operation requires a recent sign-in. Confirm your identity with POST /api/auth/step-up (or step-up/sso), then repeat the request within five minutes.';
    throw new Problem('forbidden', 'auth.step-up', detail);
  }
}

const FRESH_MS = 5 * 60_000;

/**
 * Reports whether the caller has authenticated recently. In an OAuth client's session, only a step-up counts, because consent to the client proves nothing
 * about later calls.
 */
export function isFresh({ kind, session }: Pick<Caller, 'kind' | 'session'>): boolean {
  if (kind !== 'user') return true;
  const since = session?.clientId === null ? session.authenticatedAt : (session?.steppedUpAt ?? null);
  return since !== null && Date.now() - since.getTime() <= FRESH_MS;
}

function assertMay(caller: Caller, access: Access): void {
  if (access.kind === 'person') assertOwnAccount(caller);
  if (access.kind === 'person-or-device') assertPerson(caller);
  if (access.kind === 'scopes') for (const scope of access.scopes) assertScope(caller.scopes, scope);
}

/** Rejects all callers except users, who may act through a client that they approved. */
function assertPerson({ kind }: Caller): void {
  if (kind === 'user') return;
  throw new Problem(
    'forbidden',
    'auth.person-needed',
    'API keys and clients cannot perform this operation. Sign in as a person.',
  );
}

/** Rejects all callers except users who signed in to the service itself, so that an API key or a client's token cannot be used to take over an account. */
function assertOwnAccount(caller: Caller): void {
  if (caller.kind === 'user' && caller.session?.clientId === null) return;
  throw new Problem(
    'forbidden',
    'auth.person-needed',
    'API keys and OAuth clients cannot perform this operation. Sign in to the service itself.',
  );
}
