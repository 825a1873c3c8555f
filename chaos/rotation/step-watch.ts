import { Client } from 'pg';

export const STEPS = [
  'precheck',
  'add',
  'verify',
  'make-permanent',
  'promote',
  'limit-old',
  'remove-old',
  'prove',
  'roll-back',
] as const;
export type Step = (typeof STEPS)[number];

/** StepWatch polls the rows of steps many times per second, and therefore uses a single connection. */
export class StepWatch {
  private readonly cut = new Set<string>();

  private constructor(private readonly client: Client) {}

  static async open(databaseUrl: string): Promise<StepWatch> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    return new StepWatch(client);
  }

  /** Returns the steps that the worker is executing. */
  async underWay(): Promise<Step[]> {
    return (await this.inHand()).map(({ step }) => step);
  }

  /** Records the worker's current steps as interrupted. Must be called as soon as the worker is dead. */
  async workerDied(): Promise<void> {
    for (const { id } of await this.inHand()) this.cut.add(id);
  }

  /**
   * Returns the number of interruptions of each step. A step counts as interrupted if the step was running when the worker was killed and its end was never
   * recorded.
   */
  async counts(): Promise<Map<Step, number>> {
    const { rows } = await this.client.query<{ step: Step; count: number }>(
      `SELECT step, count(*)::int FROM ssh_rotation_step WHERE id = ANY($1) AND ended_at IS NULL GROUP BY 1`,
      [[...this.cut]],
    );
    return new Map(rows.map(({ step, count }) => [step, count]));
  }

  async close(): Promise<void> {
    await this.client.end();
  }

  private async inHand(): Promise<{ id: string; step: Step }[]> {
    const { rows } = await this.client.query<{ id: string; step: Step }>(
      `SELECT s.id, s.step FROM ssh_rotation_step s JOIN ssh_rotation_target t ON t.id = s.target_id
       WHERE s.ended_at IS NULL AND s.fence = t.fence AND t.outcome = 'OPEN' AND t.lease_until > now() AND s.id <> ALL($1)`,
      [[...this.cut]],
    );
    return rows;
  }
}
