import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SshFleet, logIn, type ManagedHost } from '../../test/support/rotations.js';
import type { Service } from '../../test/support/service.js';
import { type Environment, SETTINGS } from './environment.js';
import { type Custody, type FirstKey, type Holder, HostHolder, ServiceHolder } from './holders.js';
import { type Step, STEPS, StepWatch } from './step-watch.js';

const OVERLAP_SECONDS = 1;
/** Fraction of rotations to roll back while rollback steps are still needed. */
const ROLLED_BACK = 0.4;
/** Maximum time between the start of a rotation and the rollback request. */
const ROLL_BACK_MS = 4000;
/** Time after which the worker is killed at any step that still needs an interruption. */
const PATIENCE_MS = 5000;
/** Maximum delay between observing a step and killing the worker. The kill should interrupt a step that is still in progress. */
const LATEST_MS = 200;
const LOOK_MS = 25;

export interface Killed {
  readonly faults: string[];
  /** Number of interruptions of each step. */
  readonly cut: ReadonlyMap<Step, number>;
}

export interface Kills {
  /** Required number of interruptions of each step. */
  readonly kills: number;
  /** Number of hosts, each with its own key. */
  readonly lanes: number;
  /** Custody of the keys, used by the lanes in turn. */
  readonly custodies: readonly Custody[];
}

/**
 * Rotates on several hosts at once and rolls some rotations back, while the only worker is killed repeatedly until each step has been
 * interrupted `kills` times. A kill interrupts the worker's steps on all hosts. While no worker runs, a login to every account must succeed.
 */
export async function rotateUnderKills(environment: Environment, { kills, lanes, custodies }: Kills): Promise<Killed> {
  if (kills === 0) return { faults: [], cut: new Map() };
  const watch = await StepWatch.open(environment.stage.databaseUrl);
  try {
    return await new KilledRun(environment, watch, kills).run(lanes, custodies);
  } finally {
    await watch.close();
  }
}

interface Lane {
  readonly at: ManagedHost;
  /** Key that was in place before any rotation. */
  readonly first: FirstKey;
  readonly holder: Holder;
}

class KilledRun {
  private readonly faults: string[] = [];
  private readonly ends = new Map<string, number>();
  private readonly lanes: Lane[] = [];
  private kept: ManagedHost | undefined;
  private field!: SshFleet;
  private worker!: Service;
  private cut: ReadonlyMap<Step, number> = new Map();
  private killed = 0;
  private over = false;
  private logins = 0;

  constructor(
    private readonly environment: Environment,
    private readonly watch: StepWatch,
    private readonly kills: number,
  ) {}

  async run(lanes: number, custodies: readonly Custody[]): Promise<Killed> {
    const { stage, apiKey, say } = this.environment;
    const api = await stage.start({ role: 'api', settings: SETTINGS });
    this.worker = await this.startWorker();
    this.field = new SshFleet(() => api, apiKey, 'killed');
    try {
      for (let i = 0; i < lanes; i += 1) await this.addLane(custodies[i % custodies.length] ?? 'service');
      const running = this.lanes.map((lane) =>
        this.drive(lane).catch((error: unknown) => this.stopFor(lane.at, error)),
      );
      await this.killUntilEnough();
      this.over = true;
      await Promise.all(running);
    } finally {
      this.over = true;
      await this.field.close();
      await this.worker.kill('SIGKILL');
      await api.kill();
    }
    const ends = [...this.ends].map(([end, count]) => `${count} ${end}`).join(', ');
    say(
      `${this.killed} times kill -9 of the worker, ${this.logins} logins while it was dead. Cut off: ${this.soFar()}.`,
    );
    say(`Rotations: ${ends}. ${this.faults.length} faults.`);
    return { faults: this.faults, cut: this.cut };
  }

  private async addLane(custody: Custody): Promise<void> {
    const { field } = this;
    const at = await field.addHost({ config: this.environment.config });
    const first = await field.newKey();
    at.sshd.authorize('deploy', `no-agent-forwarding ${first.publicKey}`);
    const isService = custody === 'service';
    const holder = isService ? new ServiceHolder(field, at, first) : new HostHolder(await this.keeper(), at, first);
    this.lanes.push({ at, first, holder });
  }

  /** Returns the host that has the account in which keys are stored. */
  private async keeper(): Promise<ManagedHost> {
    if (this.kept === undefined) {
      this.kept = await this.field.addHost({ config: this.environment.config });
      this.kept.sshd.authorize('deploy', '# nobody'); // also creates the directory for keys
    }
    return this.kept;
  }

  /** Runs consecutive rotations on one host and checks the result of each rotation. */
  private async drive({ at, first, holder }: Lane): Promise<void> {
    const { field } = this;
    let before: { id: string; file: string } = first;
    while (!this.over) {
      const file = at.sshd.authorizedKeys('deploy');
      const id = await field.rotate(before.id, [at], { overlapSeconds: OVERLAP_SECONDS, ...holder.order });
      if (this.missing('roll-back') > 0 && Math.random() < ROLLED_BACK) void this.rollBack(id);
      const { status, nextKeyId } = await field.ended(id, 240);
      const nextFile = field.keep(`next-${id}`, await holder.privateKey());
      if (status === 'DONE') {
        await this.lookAtDone({ at, first }, id, [before.file, nextFile]);
        before = { id: nextKeyId, file: nextFile };
      } else if (status === 'ROLLED_BACK') await this.lookAtRolledBack(at, id, { file, key: before.file });
      else this.faults.push(`rotation ${id} ended as ${status}`);
      const files = [...readdirSync(join(at.sshd.home('deploy'), '.ssh')), ...holder.leftBy(id)].join(' ');
      if (files !== 'authorized_keys') this.faults.push(`rotation ${id} left ${files}`);
      this.ends.set(status, (this.ends.get(status) ?? 0) + 1);
    }
  }

  private async lookAtDone(
    { at, first }: Pick<Lane, 'at' | 'first'>,
    id: string,
    [old, next]: [string, string],
  ): Promise<void> {
    const logins = `${await logIn(at, old)} ${await logIn(at, next)}`;
    if (logins !== 'denied accepted') this.faults.push(`rotation ${id}: old and new key were ${logins}`);
    const file = at.sshd.authorizedKeys('deploy');
    // Options and comment of the line must be preserved.
    const [, , comment = ''] = first.publicKey.split(' ');
    if (!new RegExp(`^no-agent-forwarding ssh-ed25519 \\S+ ${comment} sealwright:${id}\n$`).test(file))
      this.faults.push(`rotation ${id}: the file is ${JSON.stringify(file)}`);
  }

  private async lookAtRolledBack(at: ManagedHost, id: string, was: { file: string; key: string }): Promise<void> {
    if (at.sshd.authorizedKeys('deploy') !== was.file) this.faults.push(`rotation ${id}: the file is not what it was`);
    if ((await logIn(at, was.key)) !== 'accepted') this.faults.push(`rotation ${id}: the old key is refused`);
  }

  private stopFor({ sshd }: ManagedHost, error: unknown): void {
    this.faults.push(`${sshd.address}: ${String(error)}`);
    this.over = true;
  }

  /** Rolls a rotation back, if that is still possible. */
  private async rollBack(id: string): Promise<void> {
    await sleep(Math.random() * ROLL_BACK_MS);
    await this.field.call('POST', `/v1/rotations/${id}/rollback`).catch(() => undefined);
  }

  private async killUntilEnough(): Promise<void> {
    while (!this.over && STEPS.some((step) => this.missing(step) > 0)) {
      await this.somethingWanted();
      await sleep(Math.random() * Math.random() * LATEST_MS);
      await this.worker.kill('SIGKILL');
      await this.watch.workerDied();
      this.killed += 1;
      [this.worker] = await Promise.all([this.startWorker(), this.logInEverywhere()]);
      this.cut = await this.watch.counts();
      this.environment.say(`  ${this.killed} kills: ${this.soFar()}; ${this.faults.length} faults`);
    }
  }

  /** Waits until the worker executes the step with the fewest interruptions, or, after PATIENCE_MS, any step that still needs an interruption. */
  private async somethingWanted(): Promise<void> {
    const wanted = STEPS.filter((step) => this.missing(step) > 0);
    const [rarest] = wanted.toSorted((a, b) => this.missing(b) - this.missing(a));
    const patience = performance.now() + PATIENCE_MS;
    while (!this.over) {
      const underWay = await this.watch.underWay();
      if (underWay.some((step) => step === rarest)) return;
      if (performance.now() > patience && underWay.some((step) => wanted.includes(step))) return;
      await sleep(LOOK_MS);
    }
  }

  /** Checks that the holders can log in to the hosts in the state in which the killed worker left the hosts. */
  private async logInEverywhere(): Promise<void> {
    for (const { at, holder } of this.lanes) {
      const result = await holder.logIn();
      this.logins += 1;
      if (result !== 'accepted') this.faults.push(`after a kill a login at ${at.sshd.address} was ${result}`);
    }
  }

  private missing(step: Step): number {
    return Math.max(0, this.kills - (this.cut.get(step) ?? 0));
  }

  private soFar(): string {
    return STEPS.map((step) => `${step} ${this.cut.get(step) ?? 0}`).join(', ');
  }

  /** Starts a worker. Retries, because a start may take more than the permitted minute on a busy machine. */
  private async startWorker(): Promise<Service> {
    const start = () => this.environment.stage.start({ role: 'worker', settings: SETTINGS });
    return start().catch(start);
  }
}
