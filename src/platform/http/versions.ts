import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { Problem } from '../errors/problem.js';
import { describesHeader } from './header-parameter.js';

const TAG = /^(?:W\/)?"(\d{1,9})"$/;

const IF_MATCH = { name: 'If-Match', required: true, description: 'ETag of the resource as you last read it' };

/**
 * ExpectedVersion is the version to which a change applies, from If-Match (RFC 9110 section 13.1.1). The `ETag` of a resource is its version number
 * in quotation marks.
 */
export const ExpectedVersion = createParamDecorator(
  (_: unknown, context: ExecutionContext): number =>
    expectedVersion(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
  [describesHeader(IF_MATCH)],
);

/** ExpectedVersionIfSent is like `ExpectedVersion`, for operations that also work without a condition: undefined without If-Match. */
export const ExpectedVersionIfSent = createParamDecorator(
  (_: unknown, context: ExecutionContext): number | undefined => {
    const header = context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'];
    return header === undefined ? undefined : expectedVersion(header);
  },
  [describesHeader({ ...IF_MATCH, required: false })],
);

function expectedVersion(header: string | undefined): number {
  if (header === undefined)
    throw new Problem(
      'unconditional',
      'request.if-match-missing',
      'This operation requires the If-Match header. Send the ETag of the resource as you last read it.',
    );
  const version = TAG.exec(header.trim())?.[1];
  if (version !== undefined) return Number(version);
  throw new Problem(
    'malformed',
    'request.if-match',
    'If-Match must contain a single ETag of the resource, such as "3".',
  );
}

/**
 * isKnown returns true if If-None-Match matches the current representation (RFC 9110 section 13.1.2). Tags are compared weakly, because a proxy that
 * compresses a response weakens its tag, and clients send the weak tag.
 *
 * @param tag tag including the quotation marks
 */
export function isKnown(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === tag);
}

/**
 * staleProblem returns the Problem for a change to an outdated version.
 * @param instance path of the resource
 */
export function staleProblem(instance: string): Problem {
  return new Problem(
    'stale',
    'request.stale',
    'The resource has changed since you read it. Read it again, then repeat the change.',
    {
      instance,
    },
  );
}

/** VersionInterceptor sets the ETag from the member `revision`, otherwise from `version`. For controllers whose resources people edit. */
@Injectable()
export class VersionInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      tap((body: unknown) => {
        const { version, revision = version } = (body ?? {}) as { version?: unknown; revision?: unknown };
        if (typeof revision === 'number' && !reply.sent) void reply.header('etag', `"${revision}"`);
      }),
    );
  }
}
