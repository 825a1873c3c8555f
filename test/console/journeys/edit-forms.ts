import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { unique } from '../../approvals/approvers.js';
import { idOf, register } from '../../auth/people.js';
import { RELEASES } from '../../auth/workload-calls.js';
import { algorithm, about, bom } from '../../inventory/documents.js';
import { inDays } from '../../support/access.js';
import { selfSigned } from '../../support/openssl.js';
import { createKey, until } from '../../support/signing.js';
import type { ConsolePlace } from '../place.js';

type Call = (method: string, path: string, body?: unknown) => Promise<Record<string, never>>;

/** A resource that can be edited in the console, created with every member that the API supports. */
interface Editable {
  readonly what: string;
  /** Creates the resource. @returns the paths of the resource in the API and in the console */
  readonly make: (call: Call, place: ConsolePlace) => Promise<{ read: string; page: string; row?: string }>;
  /** Field to edit. */
  readonly field: { readonly role: 'textbox' | 'spinbutton'; readonly name: string; readonly to: string };
  /** Members that are changed by the edit. */
  readonly changes: readonly string[];
}

const NAME = { role: 'textbox', name: 'Name', to: 'Another name' } as const;
const RULES = [
  { claim: 'groups', op: 'equals', value: 'release', roles: ['operator'] },
  { claim: 'team name', op: 'prefix', value: 'plat = form -> x', roles: ['admin', 'viewer'] },
];
const PROVIDER = { enabled: false, rules: RULES, defaultRoles: ['viewer'] };
const LABEL = { role: 'textbox', name: 'Button text', to: 'Another text' } as const;

const EDITABLE: readonly Editable[] = [
  {
    what: 'an OpenID Connect provider',
    make: async (call) => {
      const name = unique('oidc');
      const own = { issuer: 'https://idp.example.com', clientId: 'x', scopes: ['openid', 'email', 'groups'] };
      const by = { clientAuthentication: 'private_key_jwt', assertionAudience: 'issuer', acrValues: ['phr', 'phrh'] };
      await call('PUT', `/api/settings/identity-providers/oidc/${name}`, { label: name, ...PROVIDER, ...own, ...by });
      return { read: `/api/settings/identity-providers/${name}`, page: '/settings/sign-in', row: name };
    },
    field: LABEL,
    changes: ['label'],
  },
  {
    what: 'a SAML provider',
    make: async (call) => {
      const name = unique('saml');
      const own = {
        entityId: name,
        entryPoint: 'https://idp.example.com/sso',
        certificates: [selfSigned(), selfSigned()],
      };
      const more = { logoutUrl: 'https://idp.example.com/slo', signRequests: true };
      const context = { classes: ['https://refeds.org/profile/mfa'], comparison: 'better', accepted: ['urn:x:strong'] };
      const asked = {
        nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity',
        requestedAuthnContext: context,
      };
      const body = { label: name, ...PROVIDER, ...own, ...more, ...asked };
      await call('PUT', `/api/settings/identity-providers/saml/${name}`, body);
      return { read: `/api/settings/identity-providers/${name}`, page: '/settings/sign-in', row: name };
    },
    field: LABEL,
    changes: ['label'],
  },
  {
    what: 'a group of approvers',
    make: async (call, { stage, service }) => {
      const name = unique('group');
      const { email } = await register(service);
      const own = { label: name, issuer: 'https://idp.example.com', clientId: 'x' };
      await call('PUT', `/api/settings/identity-providers/oidc/${name}`, { ...PROVIDER, ...own });
      const ssoGroups = [{ provider: name, group: 'team name = x' }];
      const members = [await idOf(stage, email)];
      const { id } = await call('POST', '/api/v1/approver-groups', { name, members, ssoGroups });
      return { read: `/api/v1/approver-groups/${id}`, page: '/policies', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'an approval policy',
    make: async (call, { stage, service, apiKey }) => {
      const [name, group] = [unique('policy'), unique('stage')];
      const key = await createKey(service, apiKey, { name: unique('policed'), type: 'ec-p256' });
      const { email } = await register(service);
      const { id: groupId } = await call('POST', '/api/v1/approver-groups', {
        name: group,
        members: [await idOf(stage, email)],
      });
      const { id } = await call('POST', '/api/v1/approval-policies', {
        name,
        subject: 'signing-request',
        keys: [key.name],
        stages: [{ group: groupId, threshold: 1 }],
        conditions: [{ fact: 'metadata.ticket', op: 'not-in', values: ['a', 'b'] }],
        unless: [{ fact: 'verified.repository_owner', op: 'in', values: ['org'] }],
        expiresInSeconds: 5000,
        rejectThreshold: 1,
        commentRequired: true,
      });
      return { read: `/api/v1/approval-policies/${id}`, page: '/policies', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a workload issuer',
    make: async (call) => {
      const name = unique('issuer');
      const { id } = await call('POST', '/api/settings/workload-issuers', {
        name,
        issuer: `https://${name}.example.com`,
        jwks: KEYS,
      });
      return { read: `/api/settings/workload-issuers/${id}`, page: '/settings/workload-issuers', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a workload trust',
    make: async (call) => {
      const name = unique('trust');
      const { id: issuerId } = await call('POST', '/api/settings/workload-issuers', {
        name,
        issuer: `https://${name}.example.com`,
        jwks: KEYS,
      });
      const conditions = [...RELEASES, { claim: 'own_claim', values: ['one', 'two'] }];
      const bound = { dpopBound: true, certificateBound: false, pullRequests: true, lifeSeconds: 137 };
      const body = {
        name,
        issuerId,
        audience: 'https://ours.example',
        conditions,
        scopes: ['sign:digest'],
        keys: ['a', 'b*'],
        ...bound,
      };
      const { id } = await call('POST', '/api/settings/workload-trusts', body);
      return { read: `/api/settings/workload-trusts/${id}`, page: '/settings/workload-trusts', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'the restrictions of a signing key',
    make: async (call, { service, apiKey }) => {
      const made: { id: string; revision?: number } = await createKey(service, apiKey, {
        name: unique('kept'),
        type: 'rsa-3072',
      });
      const { id, revision = 1 } = made;
      const constraints = {
        algorithms: ['sha256'],
        schemes: ['rsa-pss'],
        formats: ['raw', 'cms'],
        fileNames: ['app-*.tar.gz'],
        callers: ['01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11'],
        verified: [{ claim: 'own_claim', values: ['x'] }],
        timestamp: 'optional',
        hours: { days: ['mon', 'sun'], from: '08:15', until: '18:45', timeZone: 'America/New_York' },
        perDay: 7,
        lifetime: 900,
      };
      const body = { notBefore: '2026-01-01T13:14:15.000Z', notAfter: '2031-05-06T07:08:09.000Z', constraints };
      const headers = { 'if-match': `"${revision}"` };
      const changed = await service.call('PATCH', `/api/v1/signing-keys/${id}`, { key: apiKey, body, headers });
      if (changed.status !== 200) throw new Error(JSON.stringify(changed.body));
      return { read: `/api/v1/signing-keys/${id}`, page: `/keys/${id}` };
    },
    field: { role: 'spinbutton', name: 'Requests per day', to: '8' },
    changes: ['constraints.perDay'],
  },
  {
    what: 'a host',
    make: async (call) => {
      const jump = await call('POST', '/v1/hosts', { name: unique('jump'), address: '192.0.2.20' });
      const more = {
        owner: 'platform',
        environment: 'prod',
        labels: { rack: '7' },
        jumpHostId: jump['id'],
        port: 2222,
      };
      const modes = { managementMode: 'managed', hostKeyPolicy: 'tofu', privilege: 'sudo' };
      const { id } = await call('POST', '/v1/hosts', {
        name: unique('host'),
        address: '192.0.2.21',
        ...more,
        ...modes,
      });
      return { read: `/v1/hosts/${id}`, page: `/hosts/${id}` };
    },
    field: { ...NAME, to: 'another-name' },
    changes: ['name'],
  },
  {
    what: 'an alert rule',
    make: async (call) => {
      const name = unique('alerts');
      const kept = { parameters: { days: 17 }, severity: 'critical', grouping: 'rule', coolDownMinutes: 90 };
      const to = { emails: ['ops@example.com'] };
      const { id } = await call('POST', '/api/alert-rules', {
        name,
        condition: 'certificate-expiring',
        ...kept,
        ...to,
      });
      return { read: `/api/alert-rules/${id}`, page: '/settings/alert-rules', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a rotation policy',
    make: async (call) => {
      const name = unique('rotate');
      const window = { from: 3, to: 5 };
      const body = {
        name,
        maxAgeDays: 77,
        keyOwner: 'team',
        mostPerHour: 3,
        overlapSeconds: 5000,
        onFailure: 'skip',
        ignoreManagers: true,
        window,
      };
      const { id } = await call('POST', '/v1/rotation-policies', body);
      return { read: `/v1/rotation-policies/${id}`, page: '/rotation-policies', row: name };
    },
    field: NAME,
    // When a caller changes the policy, the caller becomes the policy's creator and the policy becomes due.
    changes: ['name', 'madeBy', 'dueAt'],
  },
  {
    what: 'an SSH login rule',
    make: async (call) => {
      const name = unique('login');
      const { id: authorityId } = await call('POST', '/v1/ssh-ca', { name: unique('ca'), kind: 'user' });
      const limits = {
        sourceAddress: '192.0.2.0/24',
        forceCommand: '/bin/x',
        extensions: ['permit-user-rc'],
        lifeSeconds: 301,
      };
      const body = {
        name,
        authorityId,
        subject: 'workload',
        conditions: RELEASES,
        principals: ['a', 'b'],
        ...limits,
        enabled: true,
      };
      const { id } = await call('POST', '/v1/ssh-login-rules', body);
      return { read: `/v1/ssh-login-rules/${id}`, page: '/ssh-login-rules', row: name };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a sensor',
    make: async (call) => {
      const configuration = { paths: ['/etc/ssl', ' with blanks '], deep: { a: [1, null, true] } };
      const body = { name: unique('sensor'), kind: 'host', heartbeatSeconds: 77, configuration, expiry: inDays(30) };
      const { id } = await call('POST', '/api/sensors', body);
      return { read: `/api/sensors/${id}`, page: `/sensors/${id}` };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a schedule',
    make: async (call) => {
      const { id: sensor } = await call('POST', '/api/sensors', {
        name: unique('of'),
        kind: 'host',
        expiry: inDays(30),
      });
      const rhythm = { cron: '15 3 * * 1', timeZone: 'Asia/Tokyo', missed: 'skip', timeoutMinutes: 99 };
      const body = { name: unique('schedule'), target: 'sensor-scan', settings: { sensor }, ...rhythm };
      const { id } = await call('POST', '/api/schedules', body);
      return { read: `/api/schedules/${id}`, page: `/schedules/${id}` };
    },
    field: NAME,
    changes: ['name'],
  },
  {
    what: 'a policy pack, whose version is incremented',
    make: async (call) => {
      const requirements = [
        { identifier: 'A-1', text: 'No RSA', q: 'family=RSA', among: 'family=RSA' },
        { identifier: 'A-2', text: 'By hand' },
      ];
      const body = {
        name: unique('pack'),
        version: '3.4',
        owner: 'us',
        description: 'Ours',
        reviewEveryDays: 77,
        requirements,
      };
      const { id } = await call('POST', '/api/policy-packs', body);
      return { read: `/api/policy-packs/${id}`, page: `/policy-packs/${id}` };
    },
    field: { role: 'textbox', name: 'Description', to: 'Another text' },
    changes: ['description'],
  },
  {
    what: 'the owner and labels of an asset',
    make: async (call) => {
      const name = unique('Asset');
      await call('POST', '/api/ingest', bom([algorithm({ name })], about(name)));
      const [asset] = (await call('GET', `/api/assets?name=${name}`))['items'] as unknown as {
        id: string;
        version: number;
      }[];
      return { read: `/api/assets/${asset?.id}`, page: `/assets/${asset?.id}` };
    },
    field: { role: 'textbox', name: 'Owner', to: 'team' },
    changes: ['owner'],
  },
];

const KEYS = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      kid: 'a',
      alg: 'ES256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
  ],
};
/** Members that the service updates on every change. */
const COUNTED = ['version', 'revision', 'updatedAt', 'changedAt', 'lastSeenAt'];

/** Returns the view without the members that a change affects. */
function untouched(view: Record<string, never>, changes: readonly string[]): object {
  const copy = structuredClone(view) as Record<string, unknown>;
  for (const path of [...COUNTED, ...changes]) {
    const [first = '', second] = path.split('.');
    if (second === undefined) delete copy[first];
    else delete (copy[first] as Record<string, unknown>)[second];
  }
  return copy;
}

async function edit(page: Page, { field }: Editable, row: string | undefined): Promise<void> {
  if (row === undefined) await page.getByRole('button', { name: 'Edit', exact: true }).first().click();
  else {
    await page.getByRole('button', { name: `Actions for ${row}`, exact: true }).click();
    await page.getByRole('menuitem', { name: 'Edit', exact: true }).click();
  }
  const dialog = page.getByRole('dialog');
  await dialog.getByRole(field.role, { name: field.name, exact: true }).fill(field.to);
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  const refusal = dialog.getByRole('alert');
  await Promise.race([dialog.waitFor({ state: 'detached', timeout: 15_000 }), refusal.waitFor({ timeout: 15_000 })]);
  expect(await refusal.allTextContents()).toEqual([]);
}

export function editFormJourneys(at: () => ConsolePlace): void {
  it.each(EDITABLE)('editing one field of $what leaves all others unchanged', async (editable) => {
    const { service, apiKey, asAdmin } = at();
    const call: Call = async (method, path, body) => {
      const answer = await service.call(method, path, { key: apiKey, body });
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body as Record<string, never>;
    };
    const { read, page: path, row } = await editable.make(call, at());
    const before = await call('GET', read);
    const { page, close, assertClean } = await asAdmin(path);
    await edit(page, editable, row);
    const after = await until('the change', 10, async () => {
      const now = await call('GET', read);
      return JSON.stringify(now) === JSON.stringify(before) ? undefined : now;
    });
    expect(untouched(after, editable.changes)).toEqual(untouched(before, editable.changes));
    assertClean();
    await close();
  });
}
