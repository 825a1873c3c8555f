import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { Config } from '../../platform/config/config.js';
import type { StreamDestination } from '../../platform/config/stream-destinations.js';
import { backOff, jittered } from '../../platform/work/claim.js';
import { WorkPool } from '../../platform/work/work-pool.js';
import { networkReason, OutboundClient } from '../../platform/outbound/outbound-client.js';
import { Background } from '../../platform/work/background.js';
import { LeafRowsReader } from '../log/log-leaf.js';
import { LogKeys } from '../log/log-keys.js';
import { AuditStreamRepository, DUE_STREAM, type StreamClaim, StreamLost } from './audit-stream.repository.js';
import { type StreamedLeaf, streamedLeaf } from './formats/streamed-leaf.js';
import { HttpsSender } from './https-sender.js';
import { ReceiverRefused, type StreamSender } from './stream-sender.js';
import { SyslogSender } from './syslog-sender.js';

const LOOK_EVERY_MS = 1000;
/** Number of leaves per read. The message for a leaf has at most a few kilobytes. */
const BATCH_SIZE = 500;
const MAX_PAUSE_SECONDS = 60;
const MAX_ASKED_SECONDS = 300;
/** Time allowed for a request in transit to complete after the process received a signal to stop. */
const END_WITHIN_MS = 3000;

/**
 * Sends the audit log to its receivers: one process at a time sends to each destination, leaf by leaf in log order, from a cursor in the database
 * that only an acknowledgement advances. An unavailable receiver delays only its own stream.
 */
@Injectable()
export class AuditStreamWorker implements BeforeApplicationShutdown {
  private readonly logger = new Logger('AuditStream');
  private readonly destinations: ReadonlyMap<string, StreamDestination>;
  private readonly begun = new Set<string>();
  private readonly senders = new Set<StreamSender>();
  private readonly pool: WorkPool<StreamClaim>;

  constructor(
    private readonly repository: AuditStreamRepository,
    private readonly leaves: LeafRowsReader,
    private readonly keys: LogKeys,
    private readonly outbound: OutboundClient,
    private readonly config: Config,
  ) {
    this.destinations = new Map(config.auditStreams.map((destination) => [destination.name, destination]));
    this.pool = new WorkPool({
      max: this.destinations.size,
      claim: (capacity) => this.claim(capacity),
      run: (claim) => this.run(claim),
      failed: (error, { id }) => this.logger.warn(`unable to start stream ${id}, will retry: ${String(error)}`),
    });
  }

  @Background({
    name: 'audit-streams',
    scope: 'process',
    first: 0,
    due: DUE_STREAM,
    when: ({ auditStreams }) => auditStreams.length > 0,
  })
  fill(): Promise<void> {
    return this.pool.fill();
  }

  async beforeApplicationShutdown(): Promise<void> {
    const timer = setTimeout(() => {
      for (const sender of this.senders) sender.close();
    }, END_WITHIN_MS);
    await this.pool.stop();
    clearTimeout(timer);
  }

  private async claim(capacity: number): Promise<StreamClaim[]> {
    for (const destination of this.destinations.values()) {
      if (this.begun.has(destination.name)) continue;
      await this.repository.begin(destination);
      this.begun.add(destination.name);
    }
    return this.repository.claim([...this.destinations.keys()], capacity);
  }

  /** Sends until the process stops or an error occurs. The cursor in the row lets any process continue. */
  private async run(claim: StreamClaim): Promise<void> {
    const destination = this.destinations.get(claim.id);
    if (destination === undefined) return;
    const sender = this.senderFor(destination);
    this.senders.add(sender);
    try {
      // If another process has claimed the stream, closing the sender ends the work with an error.
      await this.repository.hold(
        claim,
        () => this.follow(claim, sender),
        () => sender.close(),
      );
      await this.repository.release(claim);
    } catch (error) {
      await this.failed(claim, error);
    } finally {
      sender.close();
      this.senders.delete(sender);
    }
  }

  private async follow(claim: StreamClaim, sender: StreamSender): Promise<void> {
    let next = Number(claim.position);
    let isNews = claim.failures > 0;
    while (!this.pool.isStopping) {
      const [first, ...others] = await this.read(next);
      if (first !== undefined) next += await sender.send([first, ...others]);
      const before = await sender.acknowledged(first === undefined);
      if (before !== undefined) {
        await this.repository.advance(claim, before);
        if (isNews) this.logger.log(`stream ${claim.id} has recovered`);
        isNews = false;
      }
      if (others.length < BATCH_SIZE - 1) await sleep(LOOK_EVERY_MS);
    }
  }

  /** Returns leaves from number `from` on, or no leaves until the log has a key and thus a name. */
  private async read(from: number): Promise<StreamedLeaf[]> {
    const [key, size] = [await this.keys.read(), await this.leaves.size()];
    if (size < from) throw new Error(`the log was truncated: it has ${size} leaves, but ${from} were sent`);
    if (key === undefined || size === from) return [];
    const rows = await this.leaves.rows(from, Math.min(size, from + BATCH_SIZE));
    return rows.map((row) => streamedLeaf(key.origin, row));
  }

  private senderFor(destination: StreamDestination): StreamSender {
    if (destination.kind === 'https') return new HttpsSender(destination, this.outbound);
    return new SyslogSender(destination, new URL(this.config.publicUrl).hostname, this.outbound);
  }

  private async failed(claim: StreamClaim, error: unknown): Promise<void> {
    if (error instanceof StreamLost) return this.logger.warn(`stream ${claim.id}: ${error.message}`);
    const reason = networkReason(error);
    if (!this.pool.isStopping) this.logger.warn(`stream ${claim.id} failed, will retry: ${reason}`);
    const asked = error instanceof ReceiverRefused ? Math.min(error.retryAfterSeconds ?? 0, MAX_ASKED_SECONDS) : 0;
    const pause = Math.max(asked, jittered(backOff(claim.failures + 1, 1, MAX_PAUSE_SECONDS)));
    // If the database has failed, the lease expires by itself.
    await (this.pool.isStopping ? this.repository.release(claim) : this.repository.failed(claim, reason, pause)).catch(
      () => undefined,
    );
  }
}
