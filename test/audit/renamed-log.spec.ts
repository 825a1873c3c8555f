import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApprovalFixture, openApprovalFixture, unique } from '../approvals/approvers.js';
import { assertProblem } from '../support/refused-calls.js';
import { createKey, digestOf, sign } from '../support/signing.js';

/** The attacker owns the database and changes the audit log's name in the table log_key. The HSM has no record of a log with the new name. */
let place: ApprovalFixture;
beforeAll(async () => {
  place = await openApprovalFixture();
});
afterAll(() => place.stage.close());

describe('an audit log that was renamed in the database', () => {
  it('is not taken for an empty log: nothing is signed and the log is unhealthy until its name is restored', async () => {
    const { service, apiKey, stage } = place;
    const { name } = await createKey(service, apiKey, { name: unique('key'), type: 'ec-p256' });
    const attempt = () => sign(service, { key: apiKey, body: { digest: digestOf(unique('digest')), key: name } });
    const status = async () => (await attempt()).status;
    const health = async () => (await service.call('GET', '/actuator/health')).body.status as string;
    expect(await status()).toBe(200);
    await expect.poll(health, { timeout: 20_000 }).toBe('UP');
    const [row] = await stage.sql<{ origin: string }>('SELECT origin FROM log_key');
    await stage.sql(`UPDATE log_key SET origin = 'elsewhere/log'`);
    await expect.poll(status, { timeout: 20_000 }).toBe(503);
    assertProblem(await attempt(), { status: 503, code: 'audit-log.incomplete' });
    await expect.poll(health, { timeout: 20_000 }).toBe('DEGRADED');
    await stage.sql('UPDATE log_key SET origin = $1', [row?.origin]);
    await expect.poll(status, { timeout: 20_000 }).toBe(200);
    await expect.poll(health, { timeout: 20_000 }).toBe('UP');
  }, 120_000);
});
