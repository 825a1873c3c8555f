import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { pagesById } from '../../platform/database/pages-by-id.js';
import { JobLeases } from '../../platform/work/job-lease.repository.js';
import { Background, isWorker } from '../../platform/work/background.js';
import { SshKeyFindings, type WrongFindings } from './ssh-key-findings.js';

const JOB = 'reconcile-findings';
const DAY_MS = 24 * 3_600_000;
/** Maximum number of keys per transaction. */
const PAGE = 200;

/**
 * FindingReconciler compares the stored findings of all SSH keys with the current rules. Findings are otherwise updated only when a key or its locations
 * change. However, unchanged keys become older, a new age limit or version can yield other findings, and a bug could leave stored findings outdated.
 */
@Injectable()
export class FindingReconciler {
  private readonly logger = new Logger(FindingReconciler.name);

  constructor(
    private readonly db: DataSource,
    private readonly jobs: JobLeases,
    private readonly findings: SshKeyFindings,
  ) {}

  /** Reconciles all findings now. Returns undefined if another process is reconciling. */
  async now(): Promise<WrongFindings | undefined> {
    return (await this.jobs.alone(JOB, () => this.reconcile()))?.result;
  }

  /** Reconciles once a day, and after every migration. */
  @Background({ name: JOB, scope: 'cluster', every: DAY_MS, when: isWorker, drain: false })
  async reconcile(): Promise<WrongFindings> {
    let [aged, wrong] = [0, 0];
    const read = (after: string, limit: number): Promise<{ id: string }[]> =>
      this.db.query('SELECT id FROM ssh_key WHERE id > $1 ORDER BY id LIMIT $2', [after, limit]);
    for await (const keys of pagesById(read, PAGE)) {
      const ids = keys.map(({ id }) => id);
      const mended = await this.db.transaction((tx) => this.findings.reconcile(tx, ids));
      aged += mended.aged;
      wrong += mended.wrong;
    }
    if (aged > 0) this.logger.log(`SSH keys whose age finding changed: ${aged}`);
    if (wrong > 0) this.logger.error(`repaired the findings of ${wrong} SSH keys that differed from the current rules`);
    return { aged, wrong };
  }
}
