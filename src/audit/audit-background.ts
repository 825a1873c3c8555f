import { Injectable } from '@nestjs/common';
import { Config } from '../platform/config/config.js';
import { Background } from '../platform/work/background.js';
import { RightsLedger } from './history/rights-ledger.js';
import { LogSequencer, WAITING_FOR_LOG } from './log/log-sequencer.js';
import { LogWitness } from './log/log-witness.js';

const MINUTE_MS = 60_000;

/** AuditBackground runs the jobs that append entries to the log, send checkpoints to the witness and store snapshots of the ledger. */
@Injectable()
export class AuditBackground {
  constructor(
    private readonly config: Config,
    private readonly sequencer: LogSequencer,
    private readonly witness: LogWitness,
    private readonly ledger: RightsLedger,
  ) {}

  /** Appends waiting entries to the log and signs a checkpoint. Also runs once a minute, to detect a log that was rolled back together with its checkpoints. */
  @Background({ name: 'audit-log', scope: 'process', every: MINUTE_MS, first: 0, due: WAITING_FOR_LOG })
  appendWaiting(isStopping: () => boolean): Promise<void> {
    return this.sequencer.run(isStopping);
  }

  /**
   * Sends each new checkpoint to SVC_LOG_WITNESS. After a total loss, the newest witnessed checkpoint shows auditors how far the log had
   * grown, and lets `restore accept --witness` declare the rollback.
   */
  @Background({
    name: 'log-witness',
    scope: 'cluster',
    every: MINUTE_MS,
    first: 0,
    when: ({ logWitness }) => logWitness !== undefined,
  })
  async sendToWitness(): Promise<void> {
    const { logWitness } = this.config;
    if (logWitness !== undefined) await this.witness.send(logWitness);
  }

  /** Stores a snapshot of the ledger when the log has grown, so that a starting process reads few entries. */
  @Background({ name: 'rights-ledger', scope: 'cluster', every: MINUTE_MS, first: 20_000 })
  async keepLedger(): Promise<void> {
    await this.ledger.keep();
  }
}
