import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isIPv6 } from 'node:net';
import type { Caller } from '../../auth/caller.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/http/problem.js';
import { RateLimits } from '../../platform/http/rate-limits.js';
import { isKeyInPath } from './timestamping.http.js';

/** Bounds what those get who show no credential, or one that stands in an address, where logs and proxies see it. */
@Injectable()
export class TimestampAdmission {
  constructor(
    private readonly config: Config,
    private readonly rates: RateLimits,
  ) {}

  /** Problem 429 `rate-limit.exceeded` for an address that asks too often. */
  admit(caller: Caller, reply: FastifyReply): void {
    if (caller.kind === 'anonymous') this.take(`tsa:${network(caller.origin.address)}`, reply);
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

/** One customer has a whole /64 of IPv6 addresses (RFC 6177). */
function network(address: string): string {
  if (!isIPv6(address) || address.includes('.')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  if (tail === undefined) return groups.slice(0, 4).join(':');
  const behind = tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - behind.length) }, () => '0');
  return [...groups, ...zeros, ...behind].slice(0, 4).join(':');
}
