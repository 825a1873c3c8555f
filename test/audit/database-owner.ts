import { randomUUID } from 'node:crypto';
import { type ApprovalFixture } from '../approvals/approvers.js';
import { runToEnd } from '../support/service.js';

/** Simulates an attacker who owns the database but does not have the service's settings. */
export class DatabaseOwner {
  constructor(private readonly stage: ApprovalFixture['stage']) {}

  /** Saves rows of a table and returns a function that restores them unchanged. */
  async keep(table: string, where: string): Promise<() => Promise<void>> {
    const kept = `kept_${randomUUID().replaceAll('-', '')}`;
    await this.stage.sql(`CREATE TABLE ${kept} AS SELECT * FROM ${table} WHERE ${where}`);
    return async () => {
      await this.stage.sql(`DELETE FROM ${table} WHERE ${where}; INSERT INTO ${table} SELECT * FROM ${kept}`);
    };
  }

  /** Runs a statement on the audit log with the triggers disabled, because they would reject the statement. */
  async unlocked(text: string): Promise<void> {
    await this.stage.sql(
      `ALTER TABLE audit_entry DISABLE TRIGGER USER; ${text}; ALTER TABLE audit_entry ENABLE TRIGGER USER`,
    );
  }

  /** Returns the output of `sealwright-admin doctor --json`. */
  doctor(): Promise<string> {
    return runToEnd(['doctor', '--json'], this.stage.settings).catch(
      (error: unknown) => (error as { stdout: string }).stdout,
    );
  }
}
