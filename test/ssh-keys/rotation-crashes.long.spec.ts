import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet, Hammer, KeyHolder, logIn, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const STEPS = ['precheck', 'add', 'verify', 'make-permanent', 'promote', 'limit-old', 'remove-old', 'prove'] as const;

describe.runIf(canRunSshd())('a worker killed during a rotation', () => {
  let stage: Stage;
  let api: Service;
  let worker: Service;
  let field: SshFleet;
  let at: ManagedHost;
  const settings = { SVC_ALLOW_LOOPBACK: 'yes', SVC_SSH_ROTATION_LEASE_SECONDS: '2' };
  const startWorker = () => stage.start({ role: 'worker', settings });

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    api = await stage.start({ role: 'api', settings });
    worker = await startWorker();
    field = new SshFleet(() => api, apiKey);
    at = await field.addHost();
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  it.each(STEPS)('at %s: the next one finishes it, no account is locked out, nothing is left behind', async (step) => {
    const key = await field.newKey();
    at.sshd.authorize('deploy', key.publicKey);
    const hammer = new Hammer(new KeyHolder(field, at, key));
    const id = await field.rotate(key.id, [at], { overlapSeconds: 4 });
    await until(`the step ${step}`, 30, async () => {
      const begun = await stage.sql(
        `SELECT 1 FROM ssh_rotation_step s JOIN ssh_rotation_target t ON t.id = s.target_id WHERE t.rotation_id = $1 AND s.step = $2`,
        [id, step],
      );
      return begun.length > 0;
    });
    await sleep(Math.random() * 250);
    await worker.kill('SIGKILL');
    worker = await startWorker();
    const { status } = await field.ended(id, 60);
    expect(status).toBe('DONE');
    const next = await field.released(key.id);
    expect(next?.id).not.toBe(key.id);
    expect(await logIn(at, field.keep(`next-${id}`, next?.privateKey ?? ''))).toBe('accepted');
    expect(await logIn(at, key.file)).toBe('denied');
    expect(await hammer.stop()).toEqual([]);
    expect(readdirSync(join(at.sshd.home('deploy'), '.ssh'))).toEqual(['authorized_keys']);
  });

  it('leaves a log in which every change was preceded by a start entry', async () => {
    const steps = await stage.sql<{ outcome: string; count: number }>(
      `SELECT outcome, count(*)::int FROM ssh_rotation_step GROUP BY 1`,
    );
    const of = (name: string) => steps.find(({ outcome }) => outcome === name)?.count ?? 0;
    // Steps that were interrupted by a kill stay STARTED, and the repeated steps are DONE.
    expect(of('DONE')).toBeGreaterThanOrEqual(STEPS.length * STEPS.length);
    expect(of('FAILED')).toBe(0);
  });
});
