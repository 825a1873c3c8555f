import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { operatorsWords } from '../../errors/database-error.js';
import { databaseProblem } from '../../errors/database-problem.js';
import { allowedMethods } from './paths.js';
import { mediaTypesOf } from '../bodies/raw-body.js';
import { Problem, type ProblemKind } from '../../errors/problem.js';

/** Refusals is the port that records rejected requests before the response is sent. If `record` rejects, the caller receives 503. */
export abstract class Refusals {
  abstract record(request: FastifyRequest, problem: Problem): Promise<void>;
}

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

/** Errors of the HTTP layer by status. Requests with these errors never reach a service. */
const OF_HTTP = {
  400: { code: 'request.malformed', title: 'Bad Request', detail: 'The request is not valid HTTP.' },
  404: {
    code: 'route.missing',
    title: 'Not Found',
    detail: 'Path not found. See /swagger-ui/index.html for all operations.',
  },
  405: {
    code: 'route.method',
    title: 'Method Not Allowed',
    detail: 'This path does not support the request method.',
  },
  408: {
    code: 'request.timeout',
    title: 'Request Timeout',
    detail: 'The request took too long to arrive. Send the request again.',
  },
  413: {
    code: 'request.too-large',
    title: 'Content Too Large',
    detail: 'The body exceeds the size limit of this operation.',
  },
  414: { code: 'request.address', title: 'URI Too Long', detail: 'The URL is too long.' },
  415: {
    code: 'request.media-type',
    title: 'Unsupported Media Type',
    detail: 'Send the body as application/json, without a Content-Encoding.',
  },
  431: {
    code: 'request.headers',
    title: 'Request Header Fields Too Large',
    detail: 'The request headers exceed 16 KB. Send fewer or shorter headers.',
  },
} as const satisfies Record<number, { code: string; title: string; detail: string }>;
export type HttpRefusal = keyof typeof OF_HTTP;

export interface Answer extends Refusal {
  readonly title: string;
}

/** ProblemFilter converts every error to application/problem+json (RFC 9457). Only ProblemFilter maps problems to status codes. */
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
      this.logger.error('unable to write a refusal to the audit log', {
        requestId: request.id,
        cause: String(cause),
      });
      answer = ofProblem(
        new Problem('unavailable', 'audit.unavailable', 'The audit log is unavailable. Retry after 2 seconds.', {
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
    if (isHttpRefusal(status)) return answerOfHttp(routed(status, request), request);
    const ofDatabase = databaseProblem(error);
    if (ofDatabase !== undefined) {
      this.logger.warn(`database: ${operatorsWords(error)}`, { requestId: request.id });
      return ofProblem(ofDatabase);
    }
    this.logger.error(messageOf(error), error instanceof Error ? error.stack : undefined, { requestId: request.id });
    const detail = 'An internal error occurred. The cause is logged under this requestId.';
    return { status: 500, title: 'Internal Server Error', problem: new Problem('unavailable', 'internal', detail) };
  }
}

export function answerOfHttp(status: HttpRefusal, request?: FastifyRequest): Answer {
  const { code, title, detail } = OF_HTTP[status];
  const more = request === undefined ? undefined : moreOf(status, request);
  return { status, title, problem: new Problem('malformed', code, more ?? detail) };
}

/** Changes 404 to 405 if the path supports other methods. */
function routed(status: HttpRefusal, request: FastifyRequest): HttpRefusal {
  return status === 404 && request.is404 && allowedMethods(request.server, request.url).length > 0 ? 405 : status;
}

function moreOf(status: HttpRefusal, request: FastifyRequest): string | undefined {
  if (status === 405) return `This path supports only ${allowedMethods(request.server, request.url).join(', ')}.`;
  if (status === 413)
    return `The body exceeds the limit of ${request.routeOptions.bodyLimit} bytes for this operation.`;
  return status === 415 ? wrongMediaType(request) : undefined;
}

/** Returns a message with the media types that the route accepts. */
function wrongMediaType(request: FastifyRequest): string {
  const { 'content-encoding': coding, 'content-type': given } = request.headers;
  if (coding !== undefined && coding !== 'identity')
    return 'Content-Encoding is not supported. Send the body unencoded.';
  const came = given === undefined ? 'none was sent' : `not "${given.slice(0, 100)}"`;
  return `The Content-Type must be ${mediaTypesOf(request).join(' or ')}, ${came}.`;
}

export function isHttpRefusal(status: number | undefined): status is HttpRefusal {
  return status !== undefined && status in OF_HTTP;
}

function ofProblem(problem: Problem): Answer {
  return { ...STATUS[problem.kind], problem };
}

/** Returns the 4xx status of an error of Nest (HttpException) or Fastify (statusCode); otherwise undefined. */
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
  const foreign = errorShapeOf(request)?.(answer, request);
  if (status === 405) void reply.header('allow', allowedMethods(request.server, request.url).join(', '));
  // See RFC 9110 section 15.5.16.
  if (status === 415 && request.headers['content-encoding'] !== undefined)
    void reply.header('accept-encoding', 'identity');
  const { retryAfter, scope } = problem;
  // Without `close`, a client whose body was rejected could continue to send the body.
  if (status === 408 || status === 413) void reply.header('connection', 'close');
  if (retryAfter !== undefined) void reply.header('retry-after', String(retryAfter));
  if (status === 401 || scope !== undefined)
    void reply.header('www-authenticate', problem.challenge ?? challengeOf(status, problem, request));
  void reply.header('cache-control', 'no-store');
  if (foreign !== undefined) {
    void reply
      .status(foreign.status)
      .headers(foreign.headers ?? {})
      .header('content-type', 'application/json');
    void reply.send(JSON.stringify(foreign.body));
    return;
  }
  void reply
    .status(status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(problemText(answer, request.id));
}

export function problemText({ status, title, problem }: Answer, requestId: string): string {
  const { code, message: detail, errors, instance, scope } = problem;
  const type = `urn:sealwright:problem:${code}`;
  return JSON.stringify({ type, title, status, detail, code, requestId, instance, scope, errors });
}

/** Returns the WWW-Authenticate value (RFC 6750 section 3), with the DPoP scheme if the caller used DPoP (RFC 9449 section 7.1). */
function challengeOf(status: number, { code, scope }: Problem, { headers }: FastifyRequest): string {
  const scheme = /^dpop /i.test(headers.authorization ?? '') ? 'DPoP' : 'Bearer';
  if (scope !== undefined) return `${scheme} realm="sealwright", error="insufficient_scope", scope="${scope}"`;
  return status === 401 && code !== 'auth.missing'
    ? `${scheme} realm="sealwright", error="invalid_token"`
    : `${scheme} realm="sealwright"`;
}

/** Refusal is an error response, independent of its format. */
export interface Refusal {
  readonly status: number;
  readonly problem: Problem;
}

/** ForeignAnswer is an error response in the format of another protocol. */
export interface ForeignAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** ErrorShape converts an error to the format of another protocol; undefined to use problem+json. */
export type ErrorShape = (refusal: Refusal, request: FastifyRequest) => ForeignAnswer | undefined;

const shapes = new Map<string, ErrorShape>();

/** useErrorShape sets the error format for paths with this prefix, regardless of where the error occurs: router, body parser, guard or service. */
export function useErrorShape(prefix: string, shape: ErrorShape): void {
  shapes.set(prefix, shape);
}

/** errorShapeOf returns the error format for the path of a request; undefined for problem+json. */
export function errorShapeOf({ url }: FastifyRequest): ErrorShape | undefined {
  return [...shapes].find(([prefix]) => url.startsWith(prefix))?.[1];
}
