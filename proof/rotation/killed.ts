import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Field, Hammer, logIn, type ManagedHost } from '../../test/support/rotations.js';
import type { Service } from '../../test/support/service.js';
import { type Ground, SETTINGS } from './ground.js';

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
/** Between two logins of one hammer. */
const PAUSE_MS = 500;
/** Longer than this nobody waits for a certain step to come along. */
const PATIENCE_MS = 20_000;
/** Of a step that has begun; most take some hundred milliseconds. */
const LATEST_MS = 250;

export interface Killed {
  readonly faults: string[];
  /** How often each step was cut off. */
  readonly cut: ReadonlyMap<Step, number>;
}

/**
 * Rotates on several hosts, and rolls some rotations back, while the worker is killed: until each step was cut off so often. A step
 * counts as cut off when its row says that it began and never how it ended.
 */
export async function rotateUnderKills(
  ground: Ground,
  { kills, lanes }: { kills: number; lanes: number },
): Promise<Killed> {
  if (kills === 0) return { faults: [], cut: new Map() };
  const run = new KilledRun(ground, kills);
  return run.run(lanes);
}

class KilledRun {
  private readonly faults: string[] = [];
  private readonly ends = new Map<string, number>();
  private field!: Field;
  private worker!: Service;
  private cut = new Map<Step, number>();
  private killed = 0;
  private over = false;
  private logins = 0;

  constructor(
    private readonly ground: Ground,
    private readonly kills: number,
  ) {}

  async run(lanes: number): Promise<Killed> {
    const { stage, apiKey, config, say } = this.ground;
    const api = await stage.start({ role: 'api', settings: SETTINGS });
    this.worker = await this.startWorker();
    this.field = new Field(() => api, apiKey, 'killed');
    try {
      for (let i = 0; i < lanes; i += 1) await this.field.addHost({ config });
      const running = this.field.hosts.map((at) => this.lane(at).catch((error: unknown) => this.stopFor(at, error)));
      await this.killUntilEnough();
      this.over = true;
      await Promise.all(running);
      await this.count();
    } finally {
      this.over = true;
      await this.field.close();
      await this.worker.kill('SIGKILL');
      await api.kill();
    }
    const ends = [...this.ends].map(([end, count]) => `${count} ${end}`).join(', ');
    say(`${this.killed} times kill -9 of the worker under ${this.logins} logins. Steps cut off: ${this.soFar()}.`);
    say(`Rotations: ${ends}. ${this.faults.length} faults.`);
    return { faults: this.faults, cut: this.cut };
  }

  /** One host: rotation after rotation, each looked at when it is over. */
  private async lane(at: ManagedHost): Promise<void> {
    const { field } = this;
    const first = await field.newKey();
    at.sshd.authorize('deploy', first.publicKey);
    const hammer = new Hammer(field, at, first, PAUSE_MS);
    let before: { id: string; file: string } = first;
    while (!this.over) {
      const file = at.sshd.authorizedKeys('deploy');
      const id = await field.rotate(before.id, [at], { overlapSeconds: 3 });
      if ((this.cut.get('roll-back') ?? 0) < this.kills && Math.random() < 0.4) void this.rollBack(id);
      const { status } = await field.ended(id, 240);
      const next = await field.released(first.id);
      const nextFile = field.keep(`next-${id}`, next?.privateKey ?? '');
      if (status === 'DONE') {
        await this.lookAtDone(at, id, [before.file, nextFile]);
        before = { id: next?.id ?? '', file: nextFile };
      } else if (status === 'ROLLED_BACK') await this.lookAtRolledBack(at, id, { file, key: before.file });
      else this.faults.push(`rotation ${id} ended as ${status}`);
      const files = readdirSync(join(at.sshd.home('deploy'), '.ssh')).join(' ');
      if (files !== 'authorized_keys') this.faults.push(`rotation ${id} left ${files}`);
      this.ends.set(status, (this.ends.get(status) ?? 0) + 1);
    }
    const turnedAway = await hammer.stop();
    this.logins += hammer.results.length;
    this.faults.push(...turnedAway.map((result) => `a login at ${at.sshd.address} was ${result}`));
  }

  private async lookAtDone(at: ManagedHost, id: string, [old, next]: [string, string]): Promise<void> {
    const logins = `${await logIn(at, old)} ${await logIn(at, next)}`;
    if (logins !== 'denied accepted') this.faults.push(`rotation ${id}: old and new key were ${logins}`);
  }

  private async lookAtRolledBack(at: ManagedHost, id: string, was: { file: string; key: string }): Promise<void> {
    if (at.sshd.authorizedKeys('deploy') !== was.file) this.faults.push(`rotation ${id}: the file is not what it was`);
    if ((await logIn(at, was.key)) !== 'accepted') this.faults.push(`rotation ${id}: the old key is refused`);
  }

  private stopFor({ sshd }: ManagedHost, error: unknown): void {
    this.faults.push(`${sshd.address}: ${String(error)}`);
    this.over = true;
  }

  /** While that is still possible; too late is no fault. */
  private async rollBack(id: string): Promise<void> {
    await sleep(500 + Math.random() * 1500);
    await this.field.call('POST', `/v1/rotations/${id}/rollback`).catch(() => undefined);
  }

  private async killUntilEnough(): Promise<void> {
    for (let wanted = await this.leastCut(); wanted !== undefined && !this.over; wanted = await this.leastCut()) {
      if (!(await this.comesAlong(wanted))) continue;
      await sleep(Math.random() * Math.random() * LATEST_MS);
      await this.worker.kill('SIGKILL');
      this.killed += 1;
      this.worker = await this.startWorker();
      if (this.killed % 10 === 0)
        this.ground.say(`  ${this.killed} kills; ${this.soFar()}; ${this.faults.length} faults`);
    }
  }

  private async comesAlong(step: Step): Promise<boolean> {
    const until = Date.now() + PATIENCE_MS;
    while (Date.now() < until && !this.over) {
      if (await this.isUnderWay(step)) return true;
      await sleep(20);
    }
    return false;
  }

  private soFar(): string {
    return STEPS.map((step) => `${step} ${this.cut.get(step) ?? 0}`).join(', ');
  }

  private async isUnderWay(step: Step): Promise<boolean> {
    const rows = await this.ground.stage.sql(
      `SELECT 1 FROM ssh_rotation_step s JOIN ssh_rotation_target t ON t.id = s.target_id
       WHERE s.step = $1 AND s.ended_at IS NULL AND s.fence = t.fence AND t.lease_until > now() LIMIT 1`,
      [step],
    );
    return rows.length > 0;
  }

  private async leastCut(): Promise<Step | undefined> {
    await this.count();
    const open = STEPS.filter((step) => (this.cut.get(step) ?? 0) < this.kills);
    return open.toSorted((a, b) => (this.cut.get(a) ?? 0) - (this.cut.get(b) ?? 0))[0];
  }

  /** Attempts that a later one of the same target has followed, or that ended without ever saying how. */
  private async count(): Promise<void> {
    const rows = await this.ground.stage.sql<{ step: Step; count: number }>(
      `SELECT s.step, count(*)::int FROM ssh_rotation_step s JOIN ssh_rotation_target t ON t.id = s.target_id
       WHERE s.ended_at IS NULL AND (s.fence < t.fence OR t.outcome <> 'OPEN') GROUP BY 1`,
    );
    this.cut = new Map(rows.map(({ step, count }) => [step, count]));
  }

  /** A machine that is busy with other things may need more than the minute that a start is given. */
  private async startWorker(): Promise<Service> {
    const start = () => this.ground.stage.start({ role: 'worker', settings: SETTINGS });
    return start().catch(start);
  }
}
