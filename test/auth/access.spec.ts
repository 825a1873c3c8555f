import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONSOLE_PAGES } from '../../src/system/console/console.controller.js';
import { mayDo, ROLE_NAMES, type RoleName, type Scope, SCOPE_NAMES, scopesOf } from '../../src/access/scopes.js';
import { accessToken, newApiKey } from '../support/access.js';
import { KEY_SCOPES, openPrincipals, principalsOf, startLater } from '../support/access-principals.js';
import { accessTable, callEmpty, unexpectedIn } from '../support/access-table.js';
import { type Operation, operationsOf, routesOfBuild, shippedDocument } from '../support/api-document.js';
import { assertRefused, isForeign } from '../support/foreign-errors.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';
import { newPassword } from './people.js';
import { EVERYDAY_SCOPES, WITHOUT_STEP_UP } from './step-up-exceptions.js';

const OPERATIONS = operationsOf(shippedDocument());
/** Operations that require no authentication. Extend this list only deliberately. */
const PUBLIC = [
  'register',
  'refresh',
  'forgotPassword',
  'resetPassword',
  'token',
  'revokeToken',
  'introspectToken',
  'authorizeDevice',
  'getOAuthMetadata',
  'getOidcKeys',
  'listSignInChoices',
  'oidcLogin',
  'oidcCallback',
  'oidcProviderCallback',
  'samlLogin',
  'samlCallback',
  'samlLogout',
  'samlPostedLogout',
  'getSamlMetadata',
  'exchangeTicket',
  'completeSignIn',
  'backChannelLogout',
  'frontChannelLogout',
  'openSession',
  'challengePasskey',
  'login',
  'getHealth',
  'getReadiness',
  'getSigning',
  'getLiveness',
  'timestampChain',
  'trustedUserCaKeys',
  'revokedUserKeys',
  'knownHosts',
  'getSshRevocationList',
  'renewSshHostCertificate',
  'vaultHealth',
  'vaultSealStatus',
  'vaultInit',
  'vaultLeader',
];
/** Public operations that require something other than a credential of the service: a client secret, or a configured provider or authority. */
const ELSEWHERE = [
  'introspectToken',
  'authorizeDevice',
  'oidcLogin',
  'oidcCallback',
  'oidcProviderCallback',
  'samlLogin',
  'samlCallback',
  'getOidcKeys',
  'getSamlMetadata',
  'completeSignIn',
  'getSshRevocationList',
];
/** Pages for the console, the API explorer, sign-in and development, which are not part of the API. Each of these pages has separate access rules. */
const PAGES = [
  ...CONSOLE_PAGES.map((path) => `GET /${path}`),
  'GET /static/*',
  'GET /favicon.svg',
  'GET /swagger-ui/index.html',
  'GET /swagger-ui/sign-in.html',
  'POST /swagger-ui/session',
  'GET /swagger-ui/api-docs',
  'GET /swagger-ui/{file}',
  'GET /swagger-ui.html',
  'GET /api-docs',
  'GET /account',
  'GET /account/account.js',
  'GET /device',
  'GET /device/device.css',
  'GET /device/device.js',
];

let stage: Stage;
let service: Service;
let apiKey: string;
/** Access token of an administrator. */
let person: string;
let newPerson: () => Promise<string>;
/**
 * For each scope, `keys` holds a credential with only that scope. For each scope, `allBut` holds an API key with every scope except that scope, the scopes that
 * include it, `admin:*` and the voting scope.
 */
const keys = new Map<string, string>();
const allBut = new Map<string, string>();
/** Access tokens of people with exactly one role. */
const tokens = new Map<RoleName, string>();

beforeAll(async () => {
  stage = await openStage();
  const { adminEmail, adminPassword, ...seeded } = await stage.seed();
  ({ apiKey } = seeded);
  service = await stage.start({ role: 'api' });
  newPerson = () => accessToken(service, adminEmail, adminPassword);
  person = await newPerson();
  for (const role of ROLE_NAMES) tokens.set(role, await personWith(role));
  const few = KEY_SCOPES.filter((scope) => scope !== 'admin:*');
  for (const scope of SCOPE_NAMES) {
    const isOfPeople = !KEY_SCOPES.includes(scope);
    keys.set(scope, isOfPeople ? (tokens.get('approver') ?? '') : (await newApiKey(service, apiKey, [scope])).key);
    const others = few.filter((other) => !mayDo(new Set([other]), scope));
    allBut.set(scope, (await newApiKey(service, apiKey, others)).key);
  }
});
afterAll(() => stage.close());

/** Invites and registers a person with only this role. @returns the access token */
async function personWith(role: RoleName): Promise<string> {
  const [email, password] = [`${role}@example.org`, newPassword()];
  const order = { key: apiKey, body: { email, roles: [role] } };
  const { link } = (await service.call('POST', '/api/settings/invitations', order)).body;
  const invitation = new URL(link).hash.replace('#invitation=', '');
  const { status, body } = await service.call('POST', '/api/auth/register', { body: { email, password, invitation } });
  expect(status).toBe(201);
  return body.access_token;
}

describe('every application route', () => {
  const routes = routesOfBuild();
  const described = OPERATIONS.map(({ method, path }) => `${method} ${path}`);

  it('is in the API description or in the short list of pages', () => {
    const found = routes.map(({ method, path }) => `${method} ${path}`);
    expect(found.sort()).toEqual([...described, ...PAGES].sort());
  });

  it('declares who may call it', () => {
    expect(routes.filter(({ access }) => access === undefined)).toEqual([]);
  });

  it('is documented with the scopes that its handler declares', () => {
    const declared = routes
      .filter(({ method, path }) => !PAGES.includes(`${method} ${path}`))
      .map(({ method, path, access }) => [`${method} ${path}`, access?.scopes ?? []]);
    const published = OPERATIONS.map(({ method, path, scopes = [] }) => [`${method} ${path}`, scopes]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(published));
  });

  it('requires a recent sign-in for changes under an administrative scope, unless listed with a reason', () => {
    const isEveryday = (scope: string) => scope in EVERYDAY_SCOPES;
    const sensitive = routes.filter(
      ({ method, access }) =>
        method !== 'GET' && access?.kind !== 'public' && !(access?.scopes?.every(isEveryday) ?? false),
    );
    const without = sensitive.filter(({ isFresh }) => !isFresh).map(({ method, path }) => `${method} ${path}`);
    expect(sensitive.length - without.length).toBeGreaterThan(70);
    expect(without.toSorted()).toEqual(Object.keys(WITHOUT_STEP_UP).toSorted());
  });

  it('requires a recent sign-in where the API description declares it', () => {
    const fresh = routes.filter(({ isFresh }) => isFresh).map(({ method, path }) => `${method} ${path}`);
    const published = OPERATIONS.filter(({ raw }) => raw['x-step-up'] === true);
    expect(fresh.toSorted()).toEqual(published.map(({ method, path }) => `${method} ${path}`).toSorted());
  });
});

it('only a few operations are public', () => {
  const open = OPERATIONS.filter(({ isPublic }) => isPublic).map(({ operationId }) => operationId);
  expect(open.sort()).toEqual([...PUBLIC].sort());
});

const call = (operation: Operation, key: string | undefined) => callEmpty(service, operation, key);

const open = OPERATIONS.filter(({ isPublic }) => isPublic);
it.each(open.filter(({ operationId }) => !ELSEWHERE.includes(operationId)))(
  '$method $path responds to everyone',
  async (operation) => {
    const answer = await call(operation, undefined);
    expect(answer.headers.get('www-authenticate')).toBeNull();
    expect([401, 403, 404]).not.toContain(answer.status);
  },
);

describe.each(OPERATIONS.filter(({ isPublic, raw }) => !isPublic && raw['x-person'] !== true))(
  '$method $path',
  (operation) => {
    it('rejects callers without a credential', async () => {
      assertRefused(operation.path, await call(operation, undefined), { status: 401, code: 'auth.missing' });
    });

    it('accepts the required scopes', async () => {
      for (const key of [await keyWith(operation.scopes ?? []), keys.get('admin:*')]) {
        const answer = await call(operation, key);
        expect([401, 403]).not.toContain(answer.status);
        expect(answer.status).toBeLessThan(500);
      }
    });
  },
);

async function keyWith([scope = 'hosts:read', ...more]: readonly string[]): Promise<string | undefined> {
  return more.length === 0 ? keys.get(scope) : (await newApiKey(service, apiKey, [scope, ...more])).key;
}

describe.each(OPERATIONS.filter(({ raw }) => raw['x-person'] === true))('$method $path', (operation) => {
  it('rejects API keys and callers without a credential', async () => {
    assertProblem(await call(operation, undefined), { status: 401, code: 'auth.missing' });
    assertProblem(await call(operation, apiKey), { status: 403, code: 'auth.person-needed' });
  });

  it('accepts people who signed in themselves', async () => {
    const answer = await call(operation, operation.operationId === 'signOut' ? await newPerson() : person);
    expect([401, 403]).not.toContain(answer.status);
    expect(answer.status).toBeLessThan(500);
  });
});

const scoped = OPERATIONS.filter(({ scopes = [] }) => scopes.length > 0);

describe.each(scoped)('$method $path', (operation) => {
  const scopes = operation.scopes as Scope[];

  it.each(scopes)('rejects all scopes other than %s together, and names it', async (scope) => {
    const answer = await call(operation, allBut.get(scope));
    assertRefused(operation.path, answer, { status: 403, code: 'insufficient_scope' });
    expect(answer.headers.get('www-authenticate')).toContain(`scope="${scope}"`);
  });

  it('accepts exactly the roles that hold its scopes', async () => {
    for (const [role, key] of tokens) {
      const { status, body } = await call(operation, key);
      const isRefused = status === 403 && (body.code === 'insufficient_scope' || isForeign(operation.path));
      const may = scopes.every((scope) => mayDo(scopesOf([role]), scope));
      expect([role, isRefused]).toEqual([role, !may]);
      expect(status).not.toBe(401);
    }
  });
});

it('a person of each role with an old sign-in is asked for step-up exactly where the matrix requires it', async () => {
  const later = await startLater(stage);
  const people = principalsOf(await openPrincipals(service, later, apiKey), ['stale']);
  const cells = await accessTable(shippedDocument(), people);
  expect(cells).toHaveLength(OPERATIONS.length * ROLE_NAMES.length);
  expect(unexpectedIn(cells)).toEqual([]);
  expect(cells.filter(({ found }) => found === 'step-up').length).toBeGreaterThan(100);
  await later.kill('SIGKILL');
});
