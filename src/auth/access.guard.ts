import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { originOf } from '../platform/http/origin.js';
import { Problem } from '../platform/http/problem.js';
import { ACCESS, type Access, type CalledRequest } from './access.js';
import type { Caller } from './caller.js';
import { Credentials } from './credentials.js';
import { mayDo } from './scopes.js';

/** The one guard: who is it, and may they? Denies by default; a handler that declares nothing is refused. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly credentials: Credentials,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.get<Access | undefined>(ACCESS, context.getHandler());
    if (access === undefined)
      throw new Error(`${context.getClass().name}.${context.getHandler().name} declares no access`);
    if (access.kind === 'public') return true;
    const request = context.switchToHttp().getRequest<CalledRequest>();
    request.caller = await this.credentials.callerOf(authorizationOf(request), originOf(request));
    assertMay(request.caller, access);
    return true;
  }
}

function assertMay(caller: Caller, access: Access): void {
  if (access.kind !== 'scope' || mayDo(caller.scopes, access.scope)) return;
  throw new Problem('forbidden', 'insufficient_scope', `This needs the scope ${access.scope}.`, {
    scope: access.scope,
  });
}

/** Sensors know X-API-Key; to everything behind this line it is the bearer credential that it stands for. */
function authorizationOf({ headers }: CalledRequest): string | undefined {
  const key = headers['x-api-key'];
  return headers.authorization ?? (typeof key === 'string' && key.startsWith('sw_') ? `Bearer ${key}` : undefined);
}
