import { Injectable, Logger } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import type { FormatDigest } from '../formats/algorithm-identifiers.js';
import { TimestampAuthority } from './timestamp-authority.js';
import { publicName, TimestampClient } from './timestamp-client.js';
import { timestampingMs } from '../signing-jobs.js';
import { TimestampKeys } from './timestamp-keys.js';
import type { TimestampRequester } from './timestamp.repository.js';
import { messageImprint } from './timestamp-writer.js';

/** Consecutive failures after which an authority is skipped for REST_MS. */
const MAX_FAILURES = 3;
const REST_MS = 30_000;

interface Standing {
  failures: number;
  restsUntil: number;
}

/** TimestampSources gets timestamps from the authorities in SVC_TSA_AUTHORITIES, in that order. `own` is the authority of this service. */
@Injectable()
export class TimestampSources {
  private readonly logger = new Logger(TimestampSources.name);
  private readonly standing = new Map<string, Standing>();

  constructor(
    private readonly config: Config,
    private readonly authority: TimestampAuthority,
    private readonly client: TimestampClient,
    private readonly keys: TimestampKeys,
  ) {}

  /** Asserts that an authority is configured. Throws Problem `tsa.none` if no authority could ever issue a timestamp. */
  async assertAny(): Promise<void> {
    if (this.config.tsaAuthorities.every((one) => one === 'own')) await this.keys.current();
  }

  /**
   * Returns the token of the first authority that issues a valid token. Failures of earlier authorities are logged.
   *
   * @param requestId the signing request whose signature is timestamped
   * @throws Problem `timestamp.unavailable`
   */
  async stamp(
    digest: Buffer,
    algorithm: FormatDigest,
    requester: TimestampRequester,
    requestId: string,
  ): Promise<Buffer> {
    const until = performance.now() + timestampingMs(this.config);
    for (const name of this.config.tsaAuthorities) {
      const standing = this.standing.get(name) ?? { failures: 0, restsUntil: 0 };
      this.standing.set(name, standing);
      const now = performance.now();
      if (now < standing.restsUntil || now >= until) continue;
      try {
        const token = await this.from(name, { digest, algorithm, requester, requestId, withinMs: until - now });
        standing.failures = 0;
        return token;
      } catch (error) {
        this.note(name, standing, error, requestId);
      }
    }
    throw new Problem('unavailable', 'timestamp.unavailable', 'No timestamp authority returned a valid timestamp.');
  }

  private from(
    name: string,
    order: {
      digest: Buffer;
      algorithm: FormatDigest;
      requester: TimestampRequester;
      requestId: string;
      withinMs: number;
    },
  ): Promise<Buffer> {
    const { digest, algorithm, requester, requestId, withinMs } = order;
    const patience = Math.min(withinMs, this.config.tsaTimeoutMs);
    if (name !== 'own') return this.client.ask(name, digest, algorithm, patience);
    const query = { algorithm, digest, imprint: messageImprint(algorithm, digest), certificates: true };
    return this.authority.stamp(query, requester, requestId);
  }

  private note(name: string, standing: Standing, error: unknown, requestId: string): void {
    standing.failures += 1;
    if (standing.failures >= MAX_FAILURES) standing.restsUntil = performance.now() + REST_MS;
    const shown = name === 'own' ? name : publicName(name);
    this.logger.warn(`no timestamp from ${shown}: ${reasonOf(error)}`, { requestId });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.name === 'TimeoutError') return 'it did not respond in time';
  return error.cause instanceof Error && error.message === 'fetch failed' ? error.cause.message : error.message;
}
