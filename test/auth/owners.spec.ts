import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newEd25519Pair } from '../../src/formats/ssh/key-pair.js';
import { newApprover, newGuardedKey, type ApprovalFixture, unique } from '../approvals/approvers.js';
import { GITHUB } from '../fakes/workload-claims.js';
import { WorkloadIssuer } from '../fakes/workload-issuer.js';
import { inDays, newApiKey } from '../support/access.js';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { digestOf } from '../support/signing.js';
import { register } from './people.js';
import { newTrust, openWorkloadStage, runOf } from './workload-calls.js';
import { selfSigned } from '../support/openssl.js';

/** Operations whose path contains the ID of a resource. */
const ADDRESSED = operationsOf(shippedDocument()).filter(({ path }) => path.includes('{'));
/** Returns the part of the path before the first variable segment. */
const collectionOf = ({ path }: Operation): string => path.slice(0, path.indexOf('{'));

/** A resource of one person, and another person who has all scopes of the operation but does not own the resource. */
interface Owned {
  readonly id: string;
  readonly owner: string;
  readonly stranger: string;
}

interface Collection {
  readonly make: () => Promise<Owned>;
  /** Expected refusal of the other person's call; 404 by default. */
  readonly refused?: { readonly status: number; readonly code: string };
  /** Valid request bodies, by operation. */
  readonly bodies?: Readonly<Record<string, object>>;
  /** Operations that are open to every holder of the scope, because the operations only read or remove resources and grant no rights. */
  readonly forAll?: readonly string[];
}

const issuer = new WorkloadIssuer();
let place: ApprovalFixture;
let issuerId: string;
const call = (method: string, path: string, options?: object) => place.service.call(method, path, options);

/** Creates two operators, who can sign but see only their own requests. */
const operators = () => Promise.all([newApprover(place, ['operator']), newApprover(place, ['operator'])]);
const adminsAndKeyWith = async (scopes: string[]): Promise<Owned> => {
  const { key } = await newApiKey(place.service, place.apiKey, scopes);
  return { id: '', owner: place.apiKey, stranger: key };
};

/** Resources that belong to a person, or that hold rights that some callers of the operation do not have. */
const OWNED: Record<string, Collection> = {
  '/api/auth/sessions/': {
    make: async () => {
      const [ada, eve] = [await register(place.service), await register(place.service)];
      const { session } = (await call('GET', '/api/auth/me', { key: ada.accessToken })).body;
      return { id: session, owner: ada.accessToken, stranger: eve.accessToken };
    },
  },
  '/api/auth/second-factors/totp/': { make: factor, bodies: { confirmTotp: { code: '123456' } } },
  '/api/auth/second-factors/': { make: factor },
  '/api/v1/sign/requests/': {
    make: async () => {
      const [ada, eve] = await operators();
      const body = { digest: digestOf('owned') };
      const { requestId } = (await call('POST', '/api/v1/sign/digest', { key: ada.accessToken, body })).body;
      return { id: requestId, owner: ada.accessToken, stranger: eve.accessToken };
    },
  },
  '/api/v1/sign/batches/': {
    make: async () => {
      const [ada, eve] = await operators();
      const items = [{ digest: digestOf('owned') }];
      const { batchId } = (await call('POST', '/api/v1/sign/batch', { key: ada.accessToken, body: { items } })).body;
      return { id: batchId, owner: ada.accessToken, stranger: eve.accessToken };
    },
  },
  '/api/v1/sign/attestations/': {
    // A request made by one workflow run belongs to all runs that are authenticated through the same workload trust.
    make: async () => {
      const repository = `octo-org/${unique('other')}`;
      const conditions = [{ claim: 'repository', values: [repository] }];
      await newTrust({ service: place.service, key: place.apiKey }, issuerId, { conditions });
      const run = await runOf(place.service, issuer);
      const other = await runOf(place.service, issuer, { ...GITHUB, repository });
      const body = { key: 'default', subjects: [{ name: 'owned', digest: digestOf('owned') }] };
      const { request } = (await call('POST', '/api/v1/sign/attestation', { key: run, body })).body;
      return { id: request.requestId, owner: run, stranger: other };
    },
  },
  '/v1/ssh-login/': {
    make: async () => {
      const ann = await register(place.service, 'ann');
      const eve = await register(place.service, 'eve');
      const key = place.apiKey;
      const { id: authorityId } = (
        await call('POST', '/v1/ssh-ca', { key, body: { name: unique('logins'), kind: 'user' } })
      ).body;
      const conditions = [{ claim: 'email', values: [ann.email] }];
      const rule = { name: unique('rule'), authorityId, subject: 'person', principals: ['deploy'], lifeSeconds: 600 };
      await call('POST', '/v1/ssh-login-rules', { key, body: { ...rule, conditions } });
      const { type, blob } = newEd25519Pair('owned').publicKey;
      const publicKey = `${type} ${blob.toString('base64')}`;
      const { id } = (await call('POST', '/v1/ssh-login', { key: ann.accessToken, body: { publicKey } })).body;
      return { id, owner: ann.accessToken, stranger: eve.accessToken };
    },
    refused: { status: 404, code: 'ssh-ca.no-certificate' },
  },
  '/api/v1/approvals/': {
    // The other person may vote but is not a member of the required group.
    make: async () => {
      const [ada, member] = [await newApprover(place, ['operator', 'approver']), await newApprover(place)];
      const eve = await newApprover(place, ['operator', 'approver']);
      const { key } = await newGuardedKey(place, [{ members: [member], threshold: 1 }]);
      const body = { key: key.name, digest: digestOf('owned') };
      const { approvalId } = (await call('POST', '/api/v1/sign/digest', { key: ada.accessToken, body })).body;
      return { id: approvalId, owner: ada.accessToken, stranger: eve.accessToken };
    },
    bodies: { approve: {}, reject: {} },
  },
  '/api/imports/': {
    make: async () => {
      const [ada, eve] = await operators();
      const body = { bomFormat: 'CycloneDX', specVersion: '1.6', components: [] };
      const order = { key: ada.accessToken, body };
      const { id } = (await call('POST', '/api/v1/import/source-scan?async=true', order)).body;
      return { id, owner: ada.accessToken, stranger: eve.accessToken };
    },
  },
  '/api/settings/users/': {
    make: async () => {
      const admin = await newApprover(place, ['admin']);
      return { ...(await adminsAndKeyWith(['users:read', 'users:write'])), id: admin.id };
    },
    refused: { status: 403, code: 'user.beyond-caller' },
    bodies: { changeUser: { disabled: true } },
    forAll: ['getUser', 'listUserSessions'],
  },
  '/api/settings/api-keys/': {
    make: async () => {
      const body = { name: 'owned', permissions: ['admin:*'], keys: ['release-*'], expiry: inDays(1) };
      const { id } = (await call('POST', '/api/settings/api-keys', { key: place.apiKey, body })).body;
      return { ...(await adminsAndKeyWith(['settings:write'])), id };
    },
    refused: { status: 403, code: 'api-key.beyond-caller' },
    bodies: { rotateApiKey: { expiry: inDays(1), overlapHours: 1 }, changeApiKey: { keys: null } },
    forAll: ['getApiKey', 'revokeApiKey'],
  },
  '/api/settings/oauth-clients/': {
    make: async () => {
      const body = { name: 'owned', permissions: ['admin:*'], signingKeys: ['release-*'] };
      const { client_id: id } = (await call('POST', '/api/settings/oauth-clients', { key: place.apiKey, body })).body;
      return { ...(await adminsAndKeyWith(['settings:write'])), id };
    },
    refused: { status: 403, code: 'oauth-client.beyond-caller' },
    bodies: {
      replaceOAuthClientKeys: { jwks: { keys: [generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })] } },
      replaceOAuthClientCertificates: { certificates: [selfSigned()] },
      changeOAuthClient: { signingKeys: null },
    },
    forAll: ['getOAuthClient', 'revokeOAuthClient'],
  },
};

/**
 * Collections without an owner: resources of the organization, open to every holder of the scope; user codes of devices, open to the person who approves the
 * device; and redirect addresses of identity providers, which require the cookie of the browser that began the sign-in.
 */
const SHARED = `
  /api/auth/device/ /api/auth/oidc/callback/ /api/settings/invitations/ /api/settings/identity-providers/ /api/settings/identity-providers/oidc/
  /api/settings/identity-providers/saml/ /api/settings/identity-providers/test/
  /api/settings/workload-issuers/ /api/settings/workload-trusts/
  /api/v1/approval-policies/ /api/v1/approver-groups/ /api/v1/signing-keys/ /api/v1/certificates/
  /rest/v1/workers/ /v1/transit/keys/ /v1/transit/sign/ /v1/transit/verify/ /v1/transit/export/ /v1/sys/internal/ui/mounts/ /tsa/
  /api/assets/ /api/asset-views/ /api/attestations/ /api/policy-packs/ /api/bom-link/assets/ /api/analytics/snapshots/ /api/quantum-risk/rules/ /api/quantum-risk/reclassifications/ /api/relationships/
  /v1/hosts/ /v1/host-authorities/ /v1/scan-scopes/ /v1/scans/ /v1/keys/ /v1/rotations/ /v1/rotation-policies/ /v1/ssh-ca/ /v1/ssh-login-rules/
  /api/alert-rules/ /api/alerts/ /api/webhooks/ /api/webhooks/deliveries/ /api/schedules/ /api/sensors/`
  .trim()
  .split(/\s+/);

const NOWHERE = 'no operation takes its id';
const TABLES: Record<string, string> = {
  alert: '/api/alerts/',
  api_key: '/api/settings/api-keys/',
  approval: '/api/v1/approvals/',
  approval_vote: NOWHERE,
  approver_group_member: NOWHERE,
  auth_session: '/api/auth/sessions/',
  certificate: '/api/v1/certificates/',
  device_authorization: '/api/auth/device/',
  external_identity: NOWHERE,
  inventory_import: '/api/imports/',
  oauth_client: '/api/settings/oauth-clients/',
  // OpenPGP user ID (RFC 9580 section 5.11); does not refer to an account.
  openpgp_statement: NOWHERE,
  passkey_challenge: NOWHERE,
  password_reset: NOWHERE,
  recovery_code: NOWHERE,
  second_factor: '/api/auth/second-factors/',
  signing_batch: '/api/v1/sign/batches/',
  signing_key: '/api/v1/signing-keys/',
  signing_request: '/api/v1/sign/requests/',
  ssh_rotation: '/v1/rotations/',
  ssh_rotation_policy: '/v1/rotation-policies/',
  sso_transaction: NOWHERE,
  timestamp: NOWHERE,
  webhook_endpoint: '/api/webhooks/',
  workload_trust: '/api/settings/workload-trusts/',
};

async function factor(): Promise<Owned> {
  const [ada, eve] = [await register(place.service), await register(place.service)];
  const order = { key: ada.accessToken, body: { name: 'phone' } };
  const { id } = (await call('POST', '/api/auth/second-factors/totp', order)).body;
  return { id, owner: ada.accessToken, stranger: eve.accessToken };
}

/** Returns the status and code of the response. Event streams are not read to the end. */
async function answerOf({ method, path, operationId }: Operation, { bodies }: Collection, id: string, key: string) {
  const body = bodies?.[operationId];
  const response = await fetch(`${place.service.url}${path.replace(/\{\w+\}/, id)}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'PATCH' ? { 'if-match': '"1"' } : {}),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const isProblem = response.headers.get('content-type')?.includes('problem+json') === true;
  const code = isProblem ? ((await response.json()) as { code: string }).code : undefined;
  if (!isProblem) await response.body?.cancel();
  return { status: response.status, code };
}

beforeAll(async () => {
  const { stage, service, key: apiKey, issuerId: id } = await openWorkloadStage(issuer);
  [place, issuerId] = [{ stage, apiKey, service }, id];
});
afterAll(async () => {
  await issuer.stop();
  await place.stage.close();
});

it('every operation with an ID is listed as owned or shared', () => {
  const known = [...Object.keys(OWNED), ...SHARED].sort();
  expect([...new Set(ADDRESSED.map(collectionOf))].sort()).toEqual(known);
});

it('every table with an owner is listed, with the path that reaches it or as unreachable by ID', async () => {
  const rows = await place.stage.sql<{ name: string }>(
    `SELECT DISTINCT table_name AS name FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name IN ('owner_id', 'user_id') ORDER BY table_name`,
  );
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(TABLES).sort());
  const reached = Object.values(TABLES).filter((by) => by !== NOWHERE);
  expect(reached.filter((by) => !(by in OWNED) && !SHARED.includes(by))).toEqual([]);
});

describe.each(Object.entries(OWNED))('a resource of another person in %s', (prefix, collection) => {
  const operations = ADDRESSED.filter((operation) => collectionOf(operation) === prefix);
  const { refused, forAll = [] } = collection;

  it.each(operations.filter(({ operationId }) => !forAll.includes(operationId)))(
    'is inaccessible: $method $path',
    async (operation) => {
      const { id, owner, stranger } = await collection.make();
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      const answer = await answerOf(operation, collection, id, stranger);
      // The owner cannot vote on the owner's request, and the other person is not a member of the group.
      const isVote = ['approve', 'reject'].includes(operation.operationId);
      const asMissing = { status: 404, code: expect.stringMatching(/\.missing$/) };
      const asStranger = isVote ? { status: 403, code: 'approval.not-approver' } : (refused ?? asMissing);
      expect(answer).toEqual(asStranger);
      const { status, code } = await answerOf(operation, collection, id, owner);
      const isLetIn = isVote ? code === 'approval.own-request' : ![404, 403, 500].includes(status);
      expect(isLetIn, `${status} ${code}`).toBe(true);
    },
  );
});
