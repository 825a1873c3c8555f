import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Config } from '../../platform/config/config.js';
import { Clock } from '../../platform/work/clock.js';
import { clockOffset } from './sntp.js';
import { TimestampRefusal } from './timestamp-query.js';

const CHECK_EVERY_MS = 64_000;
const RETRY_AFTER_MS = 5000;
/** Time for which the last agreement with the time servers remains valid. */
const BELIEVED_MS = 600_000;

/**
 * ClockGuard ensures that the time in timestamps is correct. The clock of this process must agree with the database clock for every token, and with most of
 * the configured time servers. A step of the clock between two checks is detected with the monotonic clock.
 */
@Injectable()
export class ClockGuard implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(ClockGuard.name);
  private readonly toleranceMs: number;
  private readonly servers: readonly string[];
  private fault = 'the time servers have not been queried yet';
  private believedUntil = 0;
  private baseline = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    config: Config,
    private readonly clock: Clock,
  ) {
    this.toleranceMs = (config.tsaAccuracySeconds - 1) * 1000;
    this.servers = config.tsaNtpServers;
  }

  async onModuleInit(): Promise<void> {
    if (this.servers.length > 0) await this.check();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Returns the current time if the clock is trusted. Otherwise throws TimestampRefusal timeNotAvailable. */
  now(): Date {
    const now = this.clock.now();
    if (this.servers.length > 0) this.assertBelieved(now);
    return now;
  }

  /**
   * Asserts that the local clock agrees with the database clock. `shown` is the time that the database clock showed between `before` and now. Throws
   * TimestampRefusal timeNotAvailable.
   */
  assertAgrees(shown: Date, before: Date): void {
    const ahead = before.getTime() - shown.getTime();
    const behind = shown.getTime() - this.clock.now().getTime();
    if (Math.max(ahead, behind) <= this.toleranceMs) return;
    this.logger.error(`the service clock and the database clock differ by ${Math.round(Math.max(ahead, behind))} ms`);
    throw refusal();
  }

  private assertBelieved(now: Date): void {
    const stepped = Math.abs(now.getTime() - performance.now() - this.baseline) > this.toleranceMs;
    if (this.fault === '' && !stepped && performance.now() < this.believedUntil) return;
    if (this.fault === '') void this.check();
    throw refusal();
  }

  private async check(): Promise<void> {
    clearTimeout(this.timer);
    const answers = await Promise.allSettled(this.servers.map((server) => clockOffset(server)));
    const offsets = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const fault = this.judge(offsets);
    if (fault !== '' && fault !== this.fault) this.logger.error(`timestamps are not issued: ${fault}`);
    this.fault = fault;
    if (fault === '') {
      this.baseline = this.clock.now().getTime() - performance.now();
      this.believedUntil = performance.now() + BELIEVED_MS;
    }
    this.timer = setTimeout(() => void this.check(), fault === '' ? CHECK_EVERY_MS : RETRY_AFTER_MS).unref();
  }

  /**
   * Returns a description of the clock's fault, or an empty string if the clock has no fault. More than half of all servers must respond, and the median of
   * their times must be close to the local clock.
   */
  private judge(offsets: number[]): string {
    if (offsets.length * 2 <= this.servers.length)
      return `only ${offsets.length} of ${this.servers.length} time servers responded`;
    const median = offsets.toSorted((a, b) => a - b)[Math.floor(offsets.length / 2)] ?? 0;
    return Math.abs(median) <= this.toleranceMs ? '' : `the clock is ${Math.round(median)} ms behind the time servers`;
  }
}

function refusal(): TimestampRefusal {
  return new TimestampRefusal('timeNotAvailable', 'The accuracy of the clock cannot be confirmed.');
}
