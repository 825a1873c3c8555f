import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Approver,
  newApprover,
  openApprovalFixture,
  type ApprovalFixture,
  unique,
} from '../approvals/approvers.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { until } from '../support/signing.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { newPassword } from './people.js';

let place: ApprovalFixture;

beforeAll(async () => {
  place = await openApprovalFixture();
});
afterAll(() => place.stage.close());

const call = (method: string, path: string, key: string, body?: object, headers = {}): Promise<Answer> =>
  place.service.call(method, path, { key, headers, ...(body === undefined ? {} : { body }) });
const change = (person: Approver, body: object) =>
  call('PATCH', `/api/settings/users/${person.id}`, place.apiKey, body);

/** Recurring work that runs with the rights of its creator. */
interface Order {
  readonly path: string;
  readonly body: () => object;
  readonly table: string;
  readonly due: string;
  /** Resumes the recurring work as an authorized person. */
  readonly resume: (id: string, key: string, version: number) => Promise<Answer>;
}

const policyBody = () => ({ name: unique('yearly'), maxAgeDays: 365 });
const ORDERS: Record<string, Order> = {
  schedule: {
    path: '/api/schedules',
    body: () => ({ name: unique('check'), target: 'log-check', intervalSeconds: 3600 }),
    table: 'schedule',
    due: 'next_due_at',
    resume: (id, key, version) =>
      call('PATCH', `/api/schedules/${id}`, key, { enabled: true }, { 'if-match': `"${version}"` }),
  },
  'rotation policy': {
    path: '/v1/rotation-policies',
    body: policyBody,
    table: 'ssh_rotation_policy',
    due: 'due_at',
    resume: (id, key, version) =>
      call('PUT', `/v1/rotation-policies/${id}`, key, policyBody(), { 'if-match': `"${version}"` }),
  },
};

/** Ways in which the creator loses the right to create recurring work. Each function returns the creator's credential and a function that revokes the right. */
const LOSSES: Record<string, () => Promise<{ maker: string; lose: () => Promise<Answer> }>> = {
  'was lowered': async () => {
    const person = await newApprover(place, ['admin']);
    return { maker: person.accessToken, lose: () => change(person, { roles: ['viewer'] }) };
  },
  'was disabled': async () => {
    const person = await newApprover(place, ['admin']);
    return { maker: person.accessToken, lose: () => change(person, { disabled: true }) };
  },
  'is an API key whose owner was disabled': async () => {
    const person = await newApprover(place, ['admin']);
    const { key } = await newApiKey(place.service, person.accessToken, ['admin:*']);
    return { maker: key, lose: () => change(person, { disabled: true }) };
  },
  'is an API key that was revoked': async () => {
    const { id, key } = await newApiKey(place.service, place.apiKey, ['admin:*']);
    return { maker: key, lose: () => call('DELETE', `/api/settings/api-keys/${id}`, place.apiKey) };
  },
  'is a client whose secret a disabled person was shown, even if it was replaced since': async () => {
    const [owner, person] = [await newApprover(place, ['admin']), await newApprover(place, ['admin'])];
    const { client_id } = await makeClient(place.service, owner.accessToken, ['admin:*']);
    const replaced = (by: Approver) => call('POST', `/api/settings/oauth-clients/${client_id}/secret`, by.accessToken);
    const { client_secret } = (await replaced(person)).body;
    const grant = { grant_type: 'client_credentials', client_id, client_secret };
    const lose = async () => {
      await change(person, { disabled: true });
      return replaced(owner);
    };
    return { maker: (await postForm(place.service, '/oauth/token', grant)).body.access_token, lose };
  },
  'is the session of another person in a client whose owner was disabled': async () => {
    const [person, other] = [await newApprover(place, ['admin']), await newApprover(place, ['admin'])];
    const client = await makeClient(place.service, person.accessToken, ['admin:*']);
    const { body } = await postForm(place.service, '/oauth/device_authorization', { ...client });
    await call('POST', `/api/auth/device/${body.user_code}/approve`, other.accessToken, {});
    const grant = { ...deviceGrant(client, body.device_code), ...client };
    const { access_token: maker } = (await postForm(place.service, '/oauth/token', grant)).body;
    await call('POST', '/api/auth/step-up', maker, { password: other.password });
    return { maker, lose: () => change(person, { disabled: true }) };
  },
};

describe.concurrent.each(Object.entries(ORDERS))('a %s', (_, { path, body, table, due, resume }) => {
  const comesDue = (id: string) => place.stage.sql(`UPDATE ${table} SET ${due} = now() WHERE id = $1`, [id]);
  const read = async (id: string) => (await call('GET', `${path}/${id}`, place.apiKey)).body;

  it.concurrent.each(Object.entries(LOSSES))('is paused with an alert when its creator %s', async (_loss, make) => {
    const { maker, lose } = await make();
    const made = await call('POST', path, maker, body());
    expect(made.status).toBe(201);
    const { id, name } = made.body;
    expect((await lose()).status).toBeLessThan(300);
    await comesDue(id);
    const paused = await until('it is paused', 30, async () => {
      const now = await read(id);
      return typeof now.pausedBecause === 'string' ? now : undefined;
    });
    expect(paused.pausedBecause).toMatch(
      /^Paused: .* (no longer has the .* scope|can no longer request rotations)\. A user .* can /,
    );
    const alert = await until('an alert', 30, async () => {
      const { items } = (await call('GET', '/api/alerts', place.apiKey)).body;
      return items.find(({ subject }: { subject: { id: string } }) => subject.id === id);
    });
    expect(alert).toMatchObject({ subject: { name }, facts: { why: paused.pausedBecause } });

    const viewer = await newApprover(place, ['viewer']);
    assertProblem(await resume(id, viewer.accessToken, paused.version), { status: 403, code: 'insufficient_scope' });
    const chief = await newApprover(place, ['admin']);
    expect((await resume(id, chief.accessToken, paused.version)).status).toBe(200);
    await comesDue(id);
    await until('it goes on', 30, async () => {
      const [row] = await place.stage.sql<{ waits: boolean }>(
        `SELECT ${due} > now() AS waits FROM ${table} WHERE id = $1`,
        [id],
      );
      return row?.waits;
    });
    expect((await read(id)).pausedBecause ?? null).toBeNull();
  });
});

it.each(Object.entries(LOSSES))('an invitation is void when its creator %s', async (_loss, make) => {
  const { maker, lose } = await make();
  const email = `${unique('guest')}@example.org`;
  const { status, body } = await call('POST', '/api/settings/invitations', maker, { email, roles: ['admin'] });
  expect(status).toBe(201);
  expect((await lose()).status).toBeLessThan(300);
  const invitation = (body.link as string).split('invitation=')[1];
  const order = { email, password: newPassword(), invitation };
  const taken = await place.service.call('POST', '/api/auth/register', { body: order });
  assertProblem(taken, { status: 422, code: 'invitation.unusable' });
});

describe('a rotation policy in the database', () => {
  const pausedBecause = (id: string) =>
    until('it is paused', 30, async () => {
      await place.stage.sql(`UPDATE ssh_rotation_policy SET due_at = now() WHERE id = $1 AND due_at > now()`, [id]);
      return (await call('GET', `/v1/rotation-policies/${id}`, place.apiKey)).body.pausedBecause as string | undefined;
    });

  it('is paused when it was changed there, or written by nobody', async () => {
    const { id } = (await call('POST', '/v1/rotation-policies', place.apiKey, policyBody())).body;
    const copy = randomUUID();
    await place.stage.sql(
      `INSERT INTO ssh_rotation_policy (id, name, max_age_days, key_owner, most_per_hour, settings, made_by, owner_id)
       SELECT $2, 'copy', max_age_days, key_owner, most_per_hour, settings, made_by, owner_id FROM ssh_rotation_policy WHERE id = $1`,
      [id, copy],
    );
    await place.stage.sql(`UPDATE ssh_rotation_policy SET max_age_days = 1 WHERE id = $1`, [id]);
    for (const one of [id, copy]) expect(await pausedBecause(one)).toContain('differs from the audit log');
  });
});

describe('a schedule of a disabled person', () => {
  it('does not start automatically, and can be started by an authorized person', async () => {
    const person = await newApprover(place, ['admin']);
    const { id } = (await call('POST', '/api/schedules', person.accessToken, ORDERS['schedule']?.body())).body;
    await change(person, { disabled: true });
    await place.stage.sql(`UPDATE schedule SET next_due_at = now() WHERE id = $1`, [id]);
    const runs = async () => (await call('GET', `/api/schedules/${id}/runs`, place.apiKey)).body.items;
    const ended = await until('it ended', 30, async () =>
      (await runs()).find((run: { endedAt: string | null }) => run.endedAt),
    );
    expect(ended).toMatchObject({ status: 'FAILED', detail: expect.stringMatching(/^Paused/) });
    expect((await call('POST', `/api/schedules/${id}/run`, place.apiKey)).status).toBe(202);
    const byHand = await until('it ran', 30, async () =>
      (await runs()).find((run: { trigger: string; endedAt: string | null }) => run.trigger === 'hand' && run.endedAt),
    );
    expect(byHand).toMatchObject({ status: 'SUCCEEDED' });
  });
});
