import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** Database settings that change the meaning of statements or the format of results. */
const SETTINGS = {
  datestyle: "'German, DMY'",
  intervalstyle: "'iso_8601'",
  timezone: "'Asia/Kathmandu'",
  bytea_output: "'escape'",
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  default_transaction_isolation: "'serializable'",
};

let stage: Stage;
let apiKey: string;

beforeAll(async () => {
  stage = await openStage();
  ({ apiKey } = await stage.seed());
  const name = new URL(stage.databaseUrl).pathname.slice(1);
  for (const [setting, value] of Object.entries(SETTINGS))
    await stage.sql(`ALTER DATABASE "${name}" SET ${setting} = ${value}`);
});
afterAll(() => stage.close());

it('a database with foreign settings is written and read like any other', async () => {
  const service = await stage.start();
  const before = Date.now();
  const { status, body } = await sign(service, { key: apiKey, body: { digest: digestOf('settings') } });
  expect(status).toBe(200);
  expect(Math.abs(Date.parse(body.createdAt) - before)).toBeLessThan(60_000);
  const { body: found } = await service.call('GET', `/api/v1/sign/requests/${body.requestId}`, { key: apiKey });
  expect(found).toMatchObject({ createdAt: body.createdAt, signature: body.signature });
  const { body: health } = await service.call('GET', '/actuator/health', { key: apiKey });
  expect(health.components).toMatchObject({ db: { status: 'UP' }, clock: { status: 'UP' }, workers: { status: 'UP' } });
});
