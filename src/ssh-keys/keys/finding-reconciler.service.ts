import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { pagesById } from '../../platform/database/pages-by-id.js';
import { JobLeases } from '../../platform/jobs/job-lease.repository.js';
import { SingleFlight } from '../../platform/jobs/runners.js';
import { SshKeyFindings, type WrongFindings } from './ssh-key-findings.js';

const JOB = 'reconcile-findings';
const DAY_SECONDS = 24 * 3600;
const LOOK_EVERY_MS = 60_000;
/** Keys of one transaction. */
const PAGE = 200;

/**
 * Compares the findings of all SSH keys with what the rules say now. They are written when a key or its places change; a key that nobody touches grows
 * old all the same, another limit of age or another version judges it differently, and what a fault of ours left out would stay so.
 */
@Injectable()
export class FindingReconciler {
  private readonly logger = new Logger(FindingReconciler.name);

  constructor(
    private readonly db: DataSource,
    private readonly jobs: JobLeases,
    private readonly findings: SshKeyFindings,
  ) {}

  /** Once a day, in one process, and after every migration. Answers whether it was due. */
  look(): Promise<boolean> {
    return this.jobs.onceEvery(DAY_SECONDS, JOB, () => this.reconcile());
  }

  /** Now. Undefined while another process does it. */
  async now(): Promise<WrongFindings | undefined> {
    return (await this.jobs.alone(JOB, () => this.reconcile()))?.result;
  }

  private async reconcile(): Promise<WrongFindings> {
    let [aged, wrong] = [0, 0];
    const read = (after: string, limit: number): Promise<{ id: string }[]> =>
      this.db.query('SELECT id FROM ssh_key WHERE id > $1 ORDER BY id LIMIT $2', [after, limit]);
    for await (const keys of pagesById(read, PAGE)) {
      const ids = keys.map(({ id }) => id);
      const mended = await this.db.transaction((tx) => this.findings.reconcile(tx, ids));
      aged += mended.aged;
      wrong += mended.wrong;
    }
    if (aged > 0) this.logger.log(`${aged} SSH keys are too old now, or no longer`);
    if (wrong > 0)
      this.logger.error(`findings of ${wrong} SSH keys were not those of the rules of this version, and are repaired`);
    return { aged, wrong };
  }
}

/** Looks whether the findings are to be compared with the keys again. */
@Injectable()
export class FindingReconcilerSchedule {
  private readonly logger = new Logger(FindingReconciler.name);
  private readonly looks = new SingleFlight((error) =>
    this.logger.warn(`findings were not compared: ${String(error)}`),
  );

  constructor(private readonly reconciler: FindingReconciler) {}

  @Interval(LOOK_EVERY_MS)
  look(): Promise<void> {
    return this.looks.run(() => this.reconciler.look());
  }
}
