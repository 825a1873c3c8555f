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

/** Watches the rows of steps over one connection, since it is polled many times a second. */
export class StepWatch {
  private readonly cut = new Set<string>();

  private constructor(private readonly client: Client) {}

  static async open(databaseUrl: string): Promise<StepWatch> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    return new StepWatch(client);
  }

  /** The steps that the worker executes now. */
  async underWay(): Promise<Step[]> {
    return (await this.inHand()).map(({ step }) => step);
  }

  /** To be called as soon as the worker is dead: its current steps were interrupted. */
  async workerDied(): Promise<void> {
    for (const { id } of await this.inHand()) this.cut.add(id);
  }

  /** How often each step was interrupted: its row has a beginning, its worker was killed then, and no end was ever written. */
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
