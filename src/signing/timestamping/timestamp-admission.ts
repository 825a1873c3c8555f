import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Caller } from '../../access/caller.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import { RateLimits } from '../../platform/http/rate-limits.js';
import { isKeyInPath } from './timestamping.http.js';
import { networkOf } from '../../platform/http/origin.js';

/** Bounds what those get who show no credential, or one that stands in an address, where logs and proxies see it. */
@Injectable()
export class TimestampAdmission {
  constructor(
    private readonly config: Config,
    private readonly rates: RateLimits,
  ) {}

  /** Problem 429 `rate-limit.exceeded` for an address that asks too often. */
  admit(caller: Caller, reply: FastifyReply): void {
    if (caller.kind === 'anonymous') this.take(`tsa:${networkOf(caller.origin.address)}`, reply);
  }

  /** Problem 403 `timestamp.wide-key` for a key that may do anything else: an address is no place for it. */
  admitByPath(caller: Caller, key: string, reply: FastifyReply): void {
    if (!isKeyInPath(key)) return;
    const [only, ...more] = caller.scopes;
    if (only !== 'timestamps:issue' || more.length > 0) {
      const detail = 'A key in an address must have the permission timestamps:issue and no other; make one of its own.';
      throw new Problem('forbidden', 'timestamp.wide-key', detail);
    }
    this.take(`tsa:${caller.id}`, reply);
  }

  private take(who: string, reply: FastifyReply): void {
    this.rates.take(who, reply, this.config.tsaOpenPerMinute);
  }
}
