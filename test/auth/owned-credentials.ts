import { randomBytes } from 'node:crypto';
import { newApprover, type Approver, type ApprovalFixture } from '../approvals/approvers.js';
import { registerSensor } from '../sensors/sensor-calls.js';
import { accessToken, inDays, newApiKey } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { deviceGrant, makeClient, postForm } from './oauth-calls.js';
import { newPassword } from './people.js';

/** Calls the API with a person's credential. Expected statuses: 200 allowed, 403 forbidden, 401 (or 400 at OAuth endpoints) for an invalid credential. */
export type Use = (at: Service) => Promise<Answer>;

/** A kind of credential and how to obtain one. */
export interface Kind {
  /** Tables that store the hashed secret. */
  readonly tables: readonly string[];
  /** Creates a credential of `owner`, an administrator. Each call to `use` requires `audit:read` or `sensors:report`, which viewers do not have. */
  readonly make: (place: ApprovalFixture, owner: Approver) => Promise<Use>;
  /**
   * The credential can be used only once. A second credential shows that this kind works, and the first credential is used only after the right has been lost.
   */
  readonly once?: true;
  /** The credential requires no role, so assigning a lower role to the owner has no effect. */
  readonly forAll?: true;
}

const read =
  (key: string): Use =>
  (at) =>
    at.call('GET', '/api/v1/audit/entries?limit=1', { key });
const nameOf = (what: string) => `${what}-${randomBytes(4).toString('hex')}`;

async function deviceTokens({ service }: ApprovalFixture, owner: Approver, makerKey: string) {
  const client = await makeClient(service, makerKey, ['audit:read'], 'public');
  const { body } = await postForm(service, '/oauth/device_authorization', { client_id: client.client_id });
  const path = `/api/auth/device/${body.user_code}/approve`;
  const approved = await service.call('POST', path, { key: owner.accessToken });
  if (approved.status !== 204) throw new Error(JSON.stringify(approved.body));
  return { client, code: body.device_code as string };
}

/** All kinds of credentials that the service issues. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'access token': {
    tables: ['auth_session'],
    make: async ({ service }, owner) => read(await accessToken(service, owner.email, owner.password)),
  },
  'browser session': {
    tables: ['auth_session'],
    make: async ({ service }, { email, password }) => {
      const headers = { 'x-csrf-protection': '1', 'sec-fetch-site': 'same-origin' };
      const { headers: answered } = await service.call('POST', '/api/auth/session', {
        body: { email, password },
        headers,
      });
      const cookie = (answered.get('set-cookie') ?? '').split(';')[0] ?? '';
      return (at) => at.call('GET', '/api/v1/audit/entries?limit=1', { headers: { cookie } });
    },
  },
  'refresh token': {
    tables: ['refresh_token'],
    once: true,
    make: async ({ service }, { email, password }) => {
      const { body } = await service.call('POST', '/api/auth/login', { body: { email, password } });
      return async (at) => {
        const next = await at.call('POST', '/api/auth/refresh', { body: { refresh_token: body.refresh_token } });
        return next.status === 200 ? read(next.body.access_token)(at) : next;
      };
    },
  },
  'API key': {
    tables: ['api_key'],
    make: async ({ service }, owner) => read((await newApiKey(service, owner.accessToken, ['audit:read'])).key),
  },
  'API key made by an API key': {
    tables: ['api_key'],
    make: async ({ service }, owner) => {
      const first = await newApiKey(service, owner.accessToken, ['admin:*']);
      return read((await newApiKey(service, first.key, ['audit:read'])).key);
    },
  },
  "API key that somebody else's secret became": {
    tables: ['api_key'],
    make: async ({ service, apiKey }, owner) => {
      const { id } = await newApiKey(service, apiKey, ['audit:read']);
      const body = { expiry: inDays(1), overlapHours: 1 };
      const rotated = await service.call('POST', `/api/settings/api-keys/${id}/rotate`, {
        key: owner.accessToken,
        body,
      });
      return read(rotated.body.key);
    },
  },
  'API key made by a key that was handed to the person': {
    tables: ['api_key'],
    make: async (place, owner) =>
      read((await newApiKey(place.service, await handedKey(place, owner), ['audit:read'])).key),
  },
  'API key that such a key became when it replaced itself': {
    tables: ['api_key'],
    make: async (place, owner) => {
      const key = await handedKey(place, owner);
      const { body: self } = await place.service.call('GET', '/api/auth/me', { key });
      const body = { expiry: inDays(1), overlapHours: 1 };
      const next = await place.service.call('POST', `/api/settings/api-keys/${self.id}/rotate`, { key, body });
      return read(next.body.key);
    },
  },
  'OAuth client made by a key that was handed to the person': {
    tables: ['oauth_client'],
    make: async (place, owner) => {
      const client = await makeClient(place.service, await handedKey(place, owner), ['admin:*']);
      return clientUse(client.client_id, client.client_secret);
    },
  },
  'API key made through a client whose secret the person replaced': {
    tables: ['api_key'],
    make: async (place, owner) => {
      const { service, apiKey } = place;
      const other = await newApprover(place, ['admin']);
      const client = await makeClient(service, other.accessToken, ['admin:*']);
      const replaced = await service.call('POST', `/api/settings/oauth-clients/${client.client_id}/secret`, {
        key: owner.accessToken,
      });
      const grant = { grant_type: 'client_credentials', client_id: client.client_id };
      const tokens = await postForm(service, '/oauth/token', { ...grant, client_secret: replaced.body.client_secret });
      const made = await newApiKey(service, tokens.body.access_token, ['settings:write', 'audit:read']);
      // The API key is created with another API key, which the client created. Replacing the secret below returns the client to its owner, but the person still
      // owns both keys.
      const last = await newApiKey(service, made.key, ['audit:read']);
      await service.call('POST', `/api/settings/oauth-clients/${client.client_id}/secret`, { key: apiKey });
      return read(last.key);
    },
  },
  'OAuth client': {
    tables: ['oauth_client'],
    make: async ({ service }, owner) => {
      const client = await makeClient(service, owner.accessToken, ['admin:*']);
      return clientUse(client.client_id, client.client_secret);
    },
  },
  'token of an OAuth client': {
    tables: ['auth_session'],
    make: async ({ service }, owner) => {
      const { client_id, client_secret } = await makeClient(service, owner.accessToken, ['admin:*']);
      const grant = { grant_type: 'client_credentials', client_id, client_secret };
      return read((await postForm(service, '/oauth/token', grant)).body.access_token);
    },
  },
  'OAuth client whose secret somebody else replaced': {
    tables: ['oauth_client'],
    make: async ({ service, apiKey }, owner) => {
      const { client_id: id } = await makeClient(service, apiKey, ['audit:read']);
      const path = `/api/settings/oauth-clients/${id}/secret`;
      const { body } = await service.call('POST', path, { key: owner.accessToken });
      return clientUse(id, body.client_secret);
    },
  },
  'session of a device that the person allowed': {
    tables: ['auth_session', 'device_authorization'],
    make: async (place, owner) => {
      const { client, code } = await deviceTokens(place, owner, place.apiKey);
      const { body } = await postForm(place.service, '/oauth/token', deviceGrant(client, code));
      return read(body.access_token);
    },
  },
  'session of a device, of a client that the person made': {
    tables: ['auth_session', 'device_authorization'],
    make: async (place, owner) => {
      const other = await newApprover(place, ['admin']);
      const { client, code } = await deviceTokens(place, other, owner.accessToken);
      const { body } = await postForm(place.service, '/oauth/token', deviceGrant(client, code));
      return read(body.access_token);
    },
  },
  'device code that was allowed and not fetched': {
    tables: ['device_authorization'],
    once: true,
    make: async (place, owner) => {
      const { client, code } = await deviceTokens(place, owner, place.apiKey);
      return async (at) => {
        const tokens = await postForm(at, '/oauth/token', deviceGrant(client, code));
        return tokens.status === 200 ? read(tokens.body.access_token)(at) : tokens;
      };
    },
  },
  'refresh token of a device': {
    tables: ['refresh_token'],
    once: true,
    make: async (place, owner) => {
      const { client, code } = await deviceTokens(place, owner, place.apiKey);
      const { body } = await postForm(place.service, '/oauth/token', deviceGrant(client, code));
      const { refresh_token } = body;
      return async (at) => {
        const grant = { grant_type: 'refresh_token', client_id: client.client_id, refresh_token };
        const tokens = await postForm(at, '/oauth/token', grant);
        return tokens.status === 200 ? read(tokens.body.access_token)(at) : tokens;
      };
    },
  },
  'key of a sensor': {
    tables: ['api_key'],
    make: async ({ service }, owner) => {
      const sensor = await registerSensor(service, owner.accessToken, { name: nameOf('sensor') });
      return (at) => at.call('POST', '/api/sensors/heartbeat', { key: sensor.key, body: {} });
    },
  },
  'new key of a sensor, handed to the person': {
    tables: ['api_key'],
    make: async ({ service, apiKey }, owner) => {
      const { id } = await registerSensor(service, apiKey, { name: nameOf('sensor') });
      const body = { expiry: inDays(1), overlapHours: 1 };
      const renewed = await service.call('POST', `/api/sensors/${id}/key`, { key: owner.accessToken, body });
      return (at) => at.call('POST', '/api/sensors/heartbeat', { key: renewed.body.key, body: {} });
    },
  },
  invitation: {
    tables: ['invitation'],
    once: true,
    make: async ({ service }, owner) => {
      const body = { email: `${nameOf('guest')}@example.org`, roles: ['auditor'] };
      const order = { key: owner.accessToken, body };
      const { link } = (await service.call('POST', '/api/settings/invitations', order)).body;
      const invitation = /#invitation=(\S+)/.exec(link)?.[1];
      return async (at) => {
        const made = await at.call('POST', '/api/auth/register', {
          body: { email: body.email, password: newPassword(), invitation },
        });
        return made.status === 201 ? read(made.body.access_token)(at) : made;
      };
    },
  },
  'pass of the API explorer': {
    tables: [],
    forAll: true,
    make: async ({ service }, { email, password }) => {
      const key = await accessToken(service, email, password);
      const { headers } = await service.call('POST', '/swagger-ui/session', { key });
      const cookie = (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      return (at) => at.call('GET', '/swagger-ui/api-docs', { headers: { cookie } });
    },
  },
};

/** Returns another owner's API key that the person rotated. The rotation showed the secret to the person. */
async function handedKey({ service, apiKey }: ApprovalFixture, owner: Approver): Promise<string> {
  const { id } = await newApiKey(service, apiKey, ['admin:*']);
  const body = { expiry: inDays(1), overlapHours: 1 };
  const rotated = await service.call('POST', `/api/settings/api-keys/${id}/rotate`, { key: owner.accessToken, body });
  return rotated.body.key;
}

function clientUse(client_id: string, client_secret: string): Use {
  return async (at) => {
    const tokens = await postForm(at, '/oauth/token', { grant_type: 'client_credentials', client_id, client_secret });
    return tokens.status === 200 ? read(tokens.body.access_token)(at) : tokens;
  };
}
