import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest, FastifyInstance } from 'fastify';
import { Problem } from '../../errors/problem.js';
import { truncate } from '../../text/truncate.js';

const ROUTE_ARGUMENTS = '__routeArguments__';

/** UnknownQueryGuard rejects query parameters if the handler has no query parameters. Otherwise, a misspelled or misplaced parameter would have no effect. */
@Injectable()
export class UnknownQueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query } = context.switchToHttp().getRequest<FastifyRequest>();
    const names = Object.keys(query as object);
    if (names.length === 0 || takesQuery(context)) return true;
    const errors = names.map((name) => ({ pointer: truncate(name, 64), detail: 'unknown query parameter' }));
    throw new Problem('malformed', 'request.invalid', 'This operation does not accept query parameters.', { errors });
  }
}

function takesQuery(context: ExecutionContext): boolean {
  const declared: unknown = Reflect.getMetadata(ROUTE_ARGUMENTS, context.getClass(), context.getHandler().name);
  return Object.keys((declared as object | undefined) ?? {}).some((key) => key.startsWith(`${RouteParamtypes.QUERY}:`));
}

/** refuseNulInQuery rejects queries that contain a NUL character, as json-body.ts does for bodies. PostgreSQL cannot store NUL. */
export function refuseNulInQuery(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => done(hasNul(request.url) ? refusal(request) : undefined));
}

/** Reports whether the query contains a NUL character. This check runs for every request and must therefore be cheap. */
function hasNul(url: string): boolean {
  const query = url.indexOf('?');
  return query !== -1 && url.includes('%00', query);
}

function refusal({ query }: FastifyRequest): Problem {
  const values = Object.entries(query as object);
  const names = values.filter((value) => JSON.stringify(value).includes(String.raw`\u0000`)).map(([name]) => name);
  const detail = 'contains a NUL character';
  return new Problem('malformed', 'request.invalid', `The query string ${detail}.`, {
    errors: names.map((name) => ({ pointer: `/${name.replaceAll('\0', '')}`, detail })),
  });
}
