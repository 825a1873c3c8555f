import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet, type ManagedHost } from '../support/rotations.js';
import type { Service } from '../support/service.js';
import { until } from '../support/signing.js';
import { canRunSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

const SETTINGS = { SVC_ALLOW_LOOPBACK: 'yes' };

describe.runIf(canRunSshd())('a worker lost between a scan result and the key inventory', () => {
  let stage: Stage;
  let field: SshFleet;
  let at: ManagedHost;
  let worker: Service;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const api = await stage.start({ role: 'api', settings: SETTINGS });
    worker = await stage.start({ role: 'worker', settings: SETTINGS });
    field = new SshFleet(() => api, apiKey);
    at = await field.addHost({ users: ['deploy'] });
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  /** Blocks workers that record keys of this host until the returned function is called. */
  async function holdKeysOf(hostId: string): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: stage.databaseUrl });
    await client.connect();
    await client.query(`SELECT pg_advisory_lock(hashtextextended('ssh-keys ' || $1, 0))`, [hostId]);
    return () => client.end();
  }

  it('loses no key: another worker processes them', async () => {
    const key = await field.newKey();
    at.sshd.authorize('deploy', key.publicKey);
    const letGo = await holdKeysOf(at.id);
    const { id } = await field.ask('POST', '/v1/scans', { kind: 'ssh-deep', hosts: [at.id] });
    await until('the scan', 60, async () => (await field.ask('GET', `/v1/scans/${id}`)).status === 'DONE');
    const waiting = async () =>
      (await stage.sql<{ attempts: number }>(`SELECT attempts FROM handover WHERE topic = 'ssh-keys.found'`))[0];
    await until('the worker to take what was found', 10, async () => (await waiting())?.attempts === 1);
    await worker.kill('SIGKILL');
    await letGo();
    const places = async () => (await field.ask('GET', `/v1/keys/${key.id}/locations`)).items;
    expect(await places()).toEqual([]);
    // The dead worker's lease lasts ten minutes, so the test ends the lease early.
    await stage.sql('UPDATE handover SET due_at = now()');
    await stage.start({ role: 'worker', settings: SETTINGS });
    await until('the keys', 20, async () => (await waiting()) === undefined);
    expect(await places()).toMatchObject([{ hostId: at.id, account: 'deploy', kind: 'authorized-key' }]);
  });
});
