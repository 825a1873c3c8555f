import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseTrouble } from '../database/database-error.js';
import { Problem, type ProblemKind } from './problem.js';
import { Refusals } from './refusals.js';

const STATUS: Record<ProblemKind, { status: number; title: string }> = {
  malformed: { status: 400, title: 'Bad Request' },
  unauthenticated: { status: 401, title: 'Unauthorized' },
  forbidden: { status: 403, title: 'Forbidden' },
  missing: { status: 404, title: 'Not Found' },
  conflict: { status: 409, title: 'Conflict' },
  misdirected: { status: 421, title: 'Misdirected Request' },
  stale: { status: 412, title: 'Precondition Failed' },
  unconditional: { status: 428, title: 'Precondition Required' },
  refused: { status: 422, title: 'Unprocessable Content' },
  overloaded: { status: 429, title: 'Too Many Requests' },
  unavailable: { status: 503, title: 'Service Unavailable' },
};

/** Refusals of the HTTP layer itself, by status: they never reach a service. */
const OF_HTTP = {
  400: { code: 'request.malformed', title: 'Bad Request', detail: 'The request cannot be read.' },
  404: { code: 'route.missing', title: 'Not Found', detail: 'There is nothing at this address.' },
  408: { code: 'request.timeout', title: 'Request Timeout', detail: 'The request took too long to arrive.' },
  413: {
    code: 'request.too-large',
    title: 'Content Too Large',
    detail: 'The body is larger than this operation takes.',
  },
  414: { code: 'request.address', title: 'URI Too Long', detail: 'A part of the address is too long.' },
  415: {
    code: 'request.media-type',
    title: 'Unsupported Media Type',
    detail: 'Send the body as application/json, without a Content-Encoding.',
  },
  431: { code: 'request.headers', title: 'Request Header Fields Too Large', detail: 'The headers are too large.' },
} as const satisfies Record<number, { code: string; title: string; detail: string }>;
export type HttpRefusal = keyof typeof OF_HTTP;

export interface Answer {
  readonly status: number;
  readonly title: string;
  readonly problem: Problem;
}

/** Turns every error into application/problem+json (RFC 9457). The one place that knows statuses. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  constructor(private readonly refusals: Refusals) {}

  async catch(error: unknown, host: ArgumentsHost): Promise<void> {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    let answer = this.answerTo(error, request);
    try {
      if (answer.status < 500) await this.refusals.record(request, answer.problem);
    } catch (cause) {
      this.logger.error('a refusal could not be written to the audit log', {
        requestId: request.id,
        cause: String(cause),
      });
      answer = ofProblem(
        new Problem('unavailable', 'audit.unavailable', 'The audit log cannot be written; try again.', {
          retryAfter: 2,
        }),
      );
    }
    send(reply, request, answer);
  }

  private answerTo(error: unknown, request: FastifyRequest): Answer {
    if (error instanceof Problem) {
      if (error.kind === 'unavailable') this.logger.warn(`${error.code}: ${error.message}`, { requestId: request.id });
      return ofProblem(error);
    }
    const status = statusOf(error);
    if (isHttpRefusal(status)) return answerOfHttp(status);
    if (isDatabaseTrouble(error)) {
      this.logger.warn(`database: ${messageOf(error)}`, { requestId: request.id });
      const detail =
        'The database does not answer; whether the change was made is not known. Repeat the call with the same Idempotency-Key.';
      return ofProblem(new Problem('unavailable', 'database.unavailable', detail, { retryAfter: 2 }));
    }
    this.logger.error(messageOf(error), error instanceof Error ? error.stack : undefined, { requestId: request.id });
    const detail = 'Something went wrong on our side. The log names the cause under this requestId.';
    return { status: 500, title: 'Internal Server Error', problem: new Problem('unavailable', 'internal', detail) };
  }
}

export function answerOfHttp(status: HttpRefusal): Answer {
  const { code, title, detail } = OF_HTTP[status];
  return { status, title, problem: new Problem('malformed', code, detail) };
}

export function isHttpRefusal(status: number | undefined): status is HttpRefusal {
  return status !== undefined && status in OF_HTTP;
}

function ofProblem(problem: Problem): Answer {
  return { ...STATUS[problem.kind], problem };
}

/** Status of an error of Nest (HttpException) or Fastify (statusCode), when the client caused it. */
function statusOf(error: unknown): number | undefined {
  const status =
    error instanceof HttpException ? error.getStatus() : (error as { statusCode?: unknown } | undefined)?.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function send(reply: FastifyReply, request: FastifyRequest, answer: Answer): void {
  const { status, problem } = answer;
  const { code, retryAfter, scope } = problem;
  // Else whoever was refused in the middle of a body could go on sending it.
  if (status === 408 || status === 413) void reply.header('connection', 'close');
  if (retryAfter !== undefined) void reply.header('retry-after', String(retryAfter));
  if (status === 401 || scope !== undefined) void reply.header('www-authenticate', challenge(status, code, scope));
  void reply
    .status(status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(problemText(answer, request.id));
}

export function problemText({ status, title, problem }: Answer, requestId: string): string {
  const { code, message: detail, errors, instance, scope } = problem;
  const type = `urn:sealwright:problem:${code}`;
  return JSON.stringify({ type, title, status, detail, code, requestId, instance, scope, errors });
}

/** RFC 6750 section 3. */
function challenge(status: number, code: string, scope: string | undefined): string {
  if (scope !== undefined) return `Bearer realm="sealwright", error="insufficient_scope", scope="${scope}"`;
  return status === 401 && code !== 'auth.missing'
    ? 'Bearer realm="sealwright", error="invalid_token"'
    : 'Bearer realm="sealwright"';
}
