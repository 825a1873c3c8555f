import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';
import { Problem } from '../errors/problem.js';
import { truncate } from '../text/truncate.js';

const ROUTE_ARGUMENTS = '__routeArguments__';

/** A handler that takes no query refuses one: a misspelt or misplaced parameter must not silently do nothing. */
@Injectable()
export class UnknownQueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest>();
    const names = Object.keys(query as object);
    if (names.length === 0 || takesQuery(context)) return true;
    const errors = names.map((name) => ({ pointer: truncate(name, 64), detail: 'unknown query parameter' }));
    throw new Problem('malformed', 'request.invalid', 'This operation takes no query parameters.', { errors });
  }
}

function takesQuery(context: ExecutionContext): boolean {
  const declared: unknown = Reflect.getMetadata(ROUTE_ARGUMENTS, context.getClass(), context.getHandler().name);
  return Object.keys((declared as object | undefined) ?? {}).some((key) => key.startsWith(`${RouteParamtypes.QUERY}:`));
}
