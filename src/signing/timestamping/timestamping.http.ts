import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest, FastifyReply } from 'fastify';
import { AddressList } from '../../formats/encoding/ip-address.js';
import { bearerOfBasic } from '../../auth/credentials/callers/credentials.js';
import { admitAsGuest } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { mediaTypeOf } from '../../platform/http/bodies/raw-body.js';
import type { Caller } from '../../access/caller.js';
import { Problem } from '../../platform/errors/problem.js';
import { RateLimits } from '../../platform/http/rate-limits.js';
import { networkOf } from '../../platform/http/origin.js';
import { TimestampKeys } from './timestamp-keys.js';

export const TIMESTAMP_QUERY = 'application/timestamp-query';
export const TIMESTAMP_REPLY = 'application/timestamp-reply';
/** Queries rarely exceed a few hundred bytes. */
export const MAX_QUERY_BYTES = 16 * 1024;

const PATH = '/tsa';
const PATH_WITH_KEY = '/tsa/:key';
/** Content types that clients send with a query instead of the correct one. The last is curl's default for `--data-binary`. */
const UNSPECIFIC = new Set(['', 'application/octet-stream', 'application/x-www-form-urlencoded']);

/** Reports whether a path segment is an API key. */
function isKeyInPath(text: string): boolean {
  return text.startsWith('sw_');
}

/**
 * TimestampingHttp adapts HTTP requests from timestamp clients. The credential is the password of HTTP Basic (RFC 7617), with any user name, or part of the
 * path. Clients at the addresses in SVC_TSA_ALLOW need no credential.
 */
@Injectable()
export class TimestampingHttp implements OnModuleInit {
  private readonly logger = new Logger(TimestampingHttp.name);
  private readonly open: AddressList;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly config: Config,
  ) {
    this.open = new AddressList(config.tsaAllow);
  }

  onModuleInit(): void {
    // Workers do not serve HTTP.
    const server = this.host.httpAdapter?.getInstance<FastifyInstance>();
    if (server === undefined) return;
    const { tsaAllow } = this.config;
    if (tsaAllow.length > 0)
      this.logger.warn(`timestamps require no credential from ${tsaAllow.join(', ')} (SVC_TSA_ALLOW)`);
    server.addHook('onRequest', (request, _reply, done) => {
      const route = request.routeOptions.url;
      if (route === PATH || route === PATH_WITH_KEY) this.readHeaders(request, route);
      done();
    });
    server.addHook('onSend', (request, reply, payload, done) => {
      if (request.routeOptions.url === PATH && reply.statusCode === 401)
        void reply.header(
          'www-authenticate',
          `${String(reply.getHeader('www-authenticate'))}, Basic realm="sealwright"`,
        );
      done(null, payload);
    });
  }

  private readHeaders(request: FastifyRequest, route: string): void {
    const { headers } = request.raw;
    if (request.method === 'POST' && UNSPECIFIC.has(mediaTypeOf(request))) headers['content-type'] = TIMESTAMP_QUERY;
    const { key = '' } = request.params as { key?: string };
    if (route === PATH_WITH_KEY && isKeyInPath(key)) headers.authorization = `Bearer ${key}`;
    else headers.authorization = bearerOfBasic(headers.authorization);
    if (route === PATH && this.open.includes(request.ip)) admitAsGuest(request, ['timestamps:issue']);
  }
}

/** TimestampAdmission limits the rate of callers without a credential, and of callers whose credential is in the URL, where logs and proxies see it. */
@Injectable()
export class TimestampAdmission {
  constructor(
    private readonly config: Config,
    private readonly rates: RateLimits,
    private readonly keys: TimestampKeys,
  ) {}

  /**
   * Counts a call without a credential. Throws Problem 429 `rate-limit.exceeded` for an address with too many calls, and 403 `credential.key` for a credential
   * that is limited to other keys.
   */
  async admit(caller: Caller, reply: FastifyReply): Promise<void> {
    await this.keys.assertUsableBy(caller);
    if (caller.kind === 'anonymous') this.take(`tsa:${networkOf(caller.origin.address)}`, reply);
  }

  /**
   * Checks and counts a call with a key in the URL. Throws Problem 403 `timestamp.wide-key` for a key with further permissions, which must not be in a URL, and
   * `credential.key` for a key that is limited to other signing keys.
   */
  async admitByPath(caller: Caller, key: string, reply: FastifyReply): Promise<void> {
    await this.keys.assertUsableBy(caller);
    if (!isKeyInPath(key)) return;
    const [only, ...more] = caller.scopes;
    if (only !== 'timestamps:issue' || more.length > 0) {
      const detail = 'An API key in a URL must have only the timestamps:issue permission. Create a separate key.';
      throw new Problem('forbidden', 'timestamp.wide-key', detail);
    }
    this.take(`tsa:${caller.id}`, reply);
  }

  private take(who: string, reply: FastifyReply): void {
    this.rates.take(who, reply, this.config.tsaOpenPerMinute);
  }
}
