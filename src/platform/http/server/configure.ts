import { Logger, NotFoundException, UnsupportedMediaTypeException } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { forwardedAddresses } from '../../../formats/encoding/host-port.js';
import { Config } from '../../config/config.js';
import { Metrics } from '../../observability/metrics.js';
import { rememberRoutes, TolerantPath } from './paths.js';
import { ArrivingBodies } from '../bodies/arriving-bodies.js';
import { NextLinkInterceptor } from '../cursors.js';
import { BodyMemory } from '../bodies/body-memory.js';
import { GracefulShutdown } from './graceful-shutdown.js';
import {
  UploadAuthorizer,
  admitLargeBodies,
  JSON_TYPE,
  rawBodyOf,
  readRawBodies,
  takesMediaType,
} from '../bodies/raw-body.js';
import { mostValuesOf, readJsonLimits, parseJsonBody } from '../bodies/json-body.js';
import { refuseForeignHosts } from './host-names.js';
import { lingerAfterRefusals } from './refused-bodies.js';
import { refuseNulInQuery, UnknownQueryGuard } from './query-checks.js';
import { ProblemFilter } from './problem.filter.js';
import { ReadSharesInterceptor } from '../read-shares.js';
import { ReauthorizationInterceptor } from '../reauthorization.js';
import { WaitingCallsInterceptor } from '../waiting-calls.js';
import { announceReplays } from '../replays.js';
import { traceRequests } from '../../observability/tracing.js';
import { refuseAddress, refuseConnection } from './unreadable-requests.js';
import { validationPipe } from '../validation.js';

/** Default maximum body size in bytes. */
const BODY_LIMIT = 64 * 1024;
/** Response headers that a console on another origin may read. */
const EXPOSED = [
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
];
/** Seconds between two polls of a pending resource. */
const POLL_SECONDS = '2';
const REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;

/** Path prefix that clients of SignServer's REST interface use (jsign documentation, `--keystore`), and its replacement. */
const SIGN_SERVER = ['/signserver/rest/', '/rest/'] as const;

/** httpAdapter returns the HTTP server with limits for slow clients and endless requests. */
export function httpAdapter(config: Config): FastifyAdapter {
  const mounts = config.transitMounts.map((mount) => [`/v1/${mount}/`, '/v1/transit/'] as const);
  const path = new TolerantPath(new Map([...mounts, SIGN_SERVER]));
  return new FastifyAdapter({
    rewriteUrl: (request: { url?: string; method?: string }) => path.of(request),
    bodyLimit: BODY_LIMIT,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    requestTimeout: 20 * 60_000, // arriving-bodies.ts enforces a minimum rate for bodies
    keepAliveTimeout: 65_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false, // requests during shutdown are still served, see graceful-shutdown.ts
    genReqId: requestId,
    frameworkErrors: refuseAddress,
    clientErrorHandler: refuseConnection,
    routerOptions: {
      ignoreTrailingSlash: false,
      ignoreDuplicateSlashes: true,
      caseSensitive: true,
      maxParamLength: 200,
    },
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 2000 },
  });
}

/** configureHttp applies all HTTP settings of the application. The entry point and the tests use the same settings. */
export function configureHttp(app: NestFastifyApplication): void {
  const config = app.get(Config);
  const server = app.getHttpAdapter().getInstance();
  if (config.trustProxy.length > 0) readForwardedAddresses(server);
  traceRequests(server);
  secure(server, config);
  observe(server, app.get(Metrics));
  announceReplays(server);
  hintPolling(server);
  refuseForeignHosts(server, config);
  rememberRoutes(server);
  refuseNulInQuery(server);
  readBodies(server, app.get(ArrivingBodies));
  admitLargeBodies(server, app.get(UploadAuthorizer), app.get(BodyMemory));
  hangUpWhenClosing(server, app.get(GracefulShutdown));
  lingerAfterRefusals(server, app.get(GracefulShutdown));
  app.useGlobalGuards(new UnknownQueryGuard());
  app.useGlobalPipes(validationPipe());
  app.useGlobalInterceptors(
    new NextLinkInterceptor(),
    new WaitingCallsInterceptor(),
    new ReauthorizationInterceptor(),
    new ReadSharesInterceptor(Math.max(1, Math.floor(config.databasePool / 2))),
  );
  app.useGlobalFilters(app.get(ProblemFilter));
  if (!config.isProd) app.enableCors({ origin: config.corsOrigins, exposedHeaders: EXPOSED });
}

/** Removes ports from the addresses that trusted proxies added. This hook runs before the client address is used. */
function readForwardedAddresses(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    const said = headers['x-forwarded-for'];
    if (said !== undefined) headers['x-forwarded-for'] = forwardedAddresses([said].flat().join(',')).join(', ');
    done();
  });
}

function requestId(request: { headers: IncomingMessage['headers'] }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Media types of JSON. Other media types are accepted by individual routes. */
const TYPES = [JSON_TYPE, 'text/json'];
const ANY_JSON = /^application\/[\w!#$&^.+-]+\+json(?:$|[\s;])/i;

function readBodies(server: FastifyInstance, bodies: ArrivingBodies): void {
  server.removeAllContentTypeParsers();
  server.addHook('onRequest', (request, _reply, done) => {
    const coding = request.headers['content-encoding'];
    // The media type of an empty body is ignored. An unknown path is reported before an unsupported coding.
    if (isEmpty(request) && !takesMediaType(request)) delete request.raw.headers['content-type'];
    if (request.is404) done(new NotFoundException());
    else done(coding === undefined || coding === 'identity' ? undefined : new UnsupportedMediaTypeException());
  });
  readJsonLimits(server);
  const read = async (request: FastifyRequest, body: IncomingMessage) => {
    const takesBody = takesMediaType(request);
    // A chunked body is known to be empty only when it ends.
    if (!takesBody && request.headers['content-length'] !== undefined) throw new UnsupportedMediaTypeException();
    const bytes = await bodies.read(request, body);
    if (takesBody) return rawBodyOf(request, bytes) ?? parseJsonBody(bytes, mostValuesOf(request));
    if (bytes.length > 0) throw new UnsupportedMediaTypeException();
    return undefined;
  };
  server.addContentTypeParser(TYPES, read);
  server.addContentTypeParser(ANY_JSON, read);
  server.addContentTypeParser('*', read);
  readRawBodies(server, read);
}

/** Reports whether the request has no content (RFC 9112 section 6.3). Some clients send a media type even without content. */
function isEmpty({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/**
 * Sets security headers on every response; pages override the content security policy. No other site may frame a page. Responses are not cached by default,
 * because a proxy could return a cached response to another caller.
 */
function secure(server: FastifyInstance, config: Config): void {
  const https = config.publicUrl.startsWith('https:');
  const headers = {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    ...(https ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  };
  server.addHook('onRequest', (_request: FastifyRequest, reply: FastifyReply, done) => {
    void reply.headers(headers);
    done();
  });
}

function hangUpWhenClosing(server: FastifyInstance, closing: GracefulShutdown): void {
  closing.serves(server.server);
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (closing.begun) void reply.header('connection', 'close');
    done(null, payload);
  });
}

/** Adds Retry-After to accepted requests, because clients without an interval poll their Location as fast as they can. */
function hintPolling(server: FastifyInstance): void {
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (reply.statusCode === 202 && !reply.hasHeader('retry-after')) void reply.header('retry-after', POLL_SECONDS);
    done(null, payload);
  });
}

function observe(server: FastifyInstance, metrics: Metrics): void {
  const logger = new Logger('Http');
  server.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    void reply.header('x-request-id', request.id);
    done();
  });
  server.addHook('onResponse', (request: FastifyRequest, reply: FastifyReply, done) => {
    const route = request.routeOptions.url ?? 'none';
    metrics.http.observe({ method: request.method, route, status: reply.statusCode }, reply.elapsedTime / 1000);
    const line = `${request.method} ${route} ${reply.statusCode} ${reply.elapsedTime.toFixed(1)} ms`;
    if (reply.statusCode >= 400) logger.log(line, { requestId: request.id });
    else logger.debug(line, { requestId: request.id });
    done();
  });
}
