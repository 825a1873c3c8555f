import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SshFleet } from '../support/rotations.js';
import { until } from '../support/signing.js';
import { canRunSshd } from '../support/sshd.js';
import { openStage, type Stage } from '../support/stage.js';

describe.runIf(canRunSshd())('the policy of a team', () => {
  let stage: Stage;
  let field: SshFleet;

  beforeAll(async () => {
    stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start({ settings: { SVC_ALLOW_LOOPBACK: 'yes', SVC_SSH_ROTATION_LEASE_SECONDS: '5' } });
    field = new SshFleet(() => service, apiKey);
  });
  afterAll(async () => {
    await field.close();
    await stage.close();
  });

  /** Creates a key that a user entered, and that grants access to a new host. */
  async function entered(custody: string | undefined, owner: string) {
    const { id: hostId, sshd } = await field.addHost();
    const key = await field.newKey(undefined, custody);
    await field.ask('POST', '/v1/keys', { publicKey: key.publicKey, owner });
    sshd.authorize('deploy', key.publicKey);
    await stage.sql(
      `INSERT INTO ssh_key_location (id, key_id, host_id, kind, account, path, first_seen, last_seen)
       VALUES (gen_random_uuid(), $1, $2, 'authorized-key', 'deploy', '/home/deploy/.ssh/authorized_keys', now(), now())`,
      [key.id, hostId],
    );
    return key;
  }
  const age = (id: string, days: number) =>
    stage.sql(`UPDATE ssh_key SET known_since = now() - make_interval(days => $2) WHERE id = $1`, [id, days]);
  const rotationsOf = async (id: string) => (await field.ask('GET', `/v1/rotations?keyId=${id}`)).items;
  /** Waits for the rotation that the policy starts. */
  const ordered = (id: string) =>
    until('a rotation', 30, async () => {
      const [rotation] = await rotationsOf(id);
      return rotation?.id as string | undefined;
    });

  it('rotates its keys, and skips keys whose custody, owner or fingerprint was changed in the database', async () => {
    const held = await entered('service', 'team');
    const forged = {
      [(await entered(undefined, 'team')).id]: `custody = 'service'`,
      [(await entered('service', 'somebody else')).id]: `owner = 'team'`,
      [(await entered('service', 'team')).id]: `fingerprint = reverse(fingerprint)`,
    };
    for (const [id, change] of Object.entries(forged)) {
      await stage.sql(`UPDATE ssh_key SET ${change} WHERE id = $1`, [id]);
      await age(id, 500);
    }
    // The policy checks the oldest keys first, so the forged keys have already been checked when this key is rotated.
    await age(held.id, 400);
    const policy = { name: 'Once a year', maxAgeDays: 365, keyOwner: 'team', mostPerHour: 1, overlapSeconds: 1 };
    const { id } = await field.ask('POST', '/v1/rotation-policies', policy);
    const rotation = await ordered(held.id);
    for (const key of Object.keys(forged)) {
      expect(await rotationsOf(key)).toEqual([]);
      await until('the refusal', 10, async () => {
        const { items } = await field.ask('GET', `/api/v1/audit/entries?action=row.refused&target=${key}`);
        return items.length > 0;
      });
    }
    const { status, nextKeyId } = await field.ended(rotation);
    expect(status).toBe('DONE');
    await field.call('DELETE', `/v1/rotation-policies/${id}`);
    // According to the log, the successor has the same owner as its predecessor.
    await age(nextKeyId, 400);
    await field.ask('POST', '/v1/rotation-policies', policy);
    expect((await field.ended(await ordered(nextKeyId))).status).toBe('DONE');
  });
});
