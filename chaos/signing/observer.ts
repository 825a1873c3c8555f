import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from './environment.js';

/** Reads the database repeatedly under load and detects changes to data that should be final. */
export class Observer {
  /** Facts that changed or disappeared between two reads. */
  readonly changes: string[] = [];
  reads = 0;
  private readonly signatures = new Map<string, string>();
  private readonly entries = new Map<string, string>();
  private watching = true;
  private done: Promise<void> = Promise.resolve();

  constructor(private readonly environment: Environment) {}

  watch(everyMs: number): void {
    this.done = this.loop(everyMs);
  }

  /** Stops watching. The caller performs the last read. */
  async end(): Promise<void> {
    this.watching = false;
    await this.done;
  }

  get counts(): { signatures: number; entries: number } {
    return { signatures: this.signatures.size, entries: this.entries.size };
  }

  private async loop(everyMs: number): Promise<void> {
    while (this.watching) {
      // Ignores the error, because nothing can be read while PostgreSQL is down.
      await this.look().catch(() => undefined);
      for (let waited = 0; waited < everyMs && this.watching; waited += 100) await sleep(100);
    }
  }

  /** Reads all signatures and audit entries, and compares the rows with the results of earlier reads. */
  async look(): Promise<void> {
    const signed = await this.environment.sql<{ id: string; fact: string }>(
      `SELECT id, encode(sha256(signature), 'base64') AS fact FROM signing_request WHERE signature IS NOT NULL`,
    );
    const logged = await this.environment.sql<{ id: string; fact: string }>(
      `SELECT id, md5(audit_entry::text) AS fact FROM audit_entry`,
    );
    this.compare('the signature of request', this.signatures, signed);
    this.compare('audit entry', this.entries, logged);
    this.reads += 1;
  }

  private compare(what: string, known: Map<string, string>, rows: { id: string; fact: string }[]): void {
    const now = new Map(rows.map(({ id, fact }) => [id, fact]));
    for (const [id, fact] of known) {
      const seen = now.get(id);
      if (seen !== fact) this.changes.push(`${what} ${id} ${seen === undefined ? 'vanished' : 'changed'}`);
    }
    for (const [id, fact] of now) known.set(id, fact);
  }
}
