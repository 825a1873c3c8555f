import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessToken } from '../support/access.js';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { exampleBodyOf } from '../support/example-values.js';
import { type HostileCall, hostileCallsOf, jsonText, randomOf, someOf } from '../support/hostile-values.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer, Service } from '../support/service.js';
import { digestOf, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

/** Another seed makes other calls, and more of them find more: `SW_TEST_SEED=7 SW_TEST_CALLS=400 npm test -- test/contract/hostile-values.spec.ts`. */
const SEED = Number(process.env['SW_TEST_SEED'] ?? 1);
const CALLS_PER_OPERATION = Number(process.env['SW_TEST_CALLS'] ?? 80);
const AT_ONCE = 8;
const NOBODY = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
/** They end the session or the password that the others are called with. */
const LEFT_OUT = ['signOut', 'endSession', 'endOtherSessions', 'changePassword'];
/** Their errors are those of other protocols: RFC 6749, RFC 3161. */
const OTHER_ERRORS = /^\/(oauth\/|tsa$)/;
const OPERATIONS = operationsOf(shippedDocument()).filter(
  ({ operationId, path }) => !LEFT_OUT.includes(operationId) && !path.endsWith('/events'),
);

let stage: Stage;
let service: Service;
let apiKey: string;
let person: string;
let adminId: string;
/** Ids of what was made for the test, by the path of its collection. */
const made = new Map<string, string>();

/** What examples cannot know: the ids of what is there, and which of two members to leave out. */
const MORE: Record<string, () => Record<string, unknown>> = {
  createApproverGroup: () => ({ members: [adminId], ssoGroups: [] }),
  changeApproverGroup: () => ({ members: [adminId], ssoGroups: [] }),
  createApprovalPolicy: () => ({ keys: [GUARDED], conditions: [] }),
  changeApprovalPolicy: () => ({ keys: [GUARDED], conditions: [] }),
  signDigest: () => ({ content: undefined, scheme: 'ecdsa-der' }),
  verifySignature: () => ({ requestId: undefined, scheme: 'ecdsa-der', timestamp: undefined }),
  createSchedule: () => ({ intervalSeconds: undefined, target: 'snapshot', settings: {} }),
  createAlertRule: () => ({ webhooks: [] }),
  changeAlertRule: () => ({ webhooks: [] }),
  createHost: () => ({ credential: undefined, jumpHostId: undefined }),
  updateHost: () => ({ credential: undefined, jumpHostId: undefined }),
  addHostAuthority: () => ({ publicKey: PUBLIC_KEY }),
  createScan: () => ({ scopeId: made.get('/v1/scan-scopes'), ...WHOLE_SCOPE }),
  createSigningKey: () => ({ notBefore: undefined, constraints: {} }),
  ingest: () => SCAN,
  importSourceScan: () => SCAN,
};
const WHOLE_SCOPE = { targets: undefined, ports: undefined, hosts: undefined, label: undefined };
/** As the example of a key is named. */
const GUARDED = 'release-2027';
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r';
const SCAN = {
  assets: [
    {
      component: {
        type: 'cryptographic-asset',
        name: 'RSA-2048',
        cryptoProperties: {
          assetType: 'algorithm',
          algorithmProperties: { primitive: 'pke', parameterSetIdentifier: '2048', cryptoFunctions: ['sign'] },
        },
      },
      occurrence: { location: 'src/main.c', line: 12, symbol: 'RSA_new' },
    },
  ],
};
const THERE = [
  ...['approvals', 'approval-policies', 'approver-groups', 'sign/digest', 'sign/requests', 'signing-keys'].map(
    (name) => `/api/v1/${name}`,
  ),
  ...[
    'alert-rules',
    'asset-views',
    'policy-packs',
    'schedules',
    'sensors',
    'settings/api-keys',
    'settings/invitations',
    'webhooks',
  ].map((name) => `/api/${name}`),
  ...['hosts', 'host-authorities', 'scan-scopes', 'scans', 'ssh-ca'].map((name) => `/v1/${name}`),
];
const ATTEMPTS = 5;
/** What others need comes first. */
const FIRST = ['createApproverGroup', 'createApprovalPolicy', 'createWebhook', 'createSigningKey', 'createScanScope'];

beforeAll(async () => {
  stage = await openStage();
  const { adminEmail, adminPassword, ...seeded } = await stage.seed();
  ({ apiKey } = seeded);
  const settings = { SVC_RATE_LIMIT_PER_MINUTE: '100000000' };
  service = await stage.start({ role: 'api', settings });
  person = await accessToken(service, adminEmail, adminPassword);
  adminId = (await service.call('GET', '/api/auth/me', { key: person })).body.id;
  const creating = OPERATIONS.filter(({ method, path }) => method === 'POST' && !path.includes('{'));
  for (const operation of creating.toSorted((a, b) => rank(a) - rank(b))) await make(operation);
  const { body: held } = await sign(service, { key: apiKey, body: { digest: digestOf('x'), key: GUARDED } });
  made.set('/api/v1/sign/requests', held.requestId).set('/api/v1/approvals', held.approvalId);
  // Without them most calls would be refused at the first look.
  expect([...made].filter(([, id]) => id !== undefined).map(([path]) => path)).toEqual(expect.arrayContaining(THERE));
});
afterAll(() => stage.close());

const rank = ({ operationId }: Operation) => (FIRST.includes(operationId) ? FIRST.indexOf(operationId) : FIRST.length);

async function make(operation: Operation): Promise<void> {
  const good = bodyOf(operation);
  const wanted = { path: operation.path, body: good === undefined ? undefined : jsonText(good) };
  let answer = await call(operation, wanted);
  // Where much else runs, a key may take longer than its caller waits.
  for (let attempt = 1; answer.status === 503 && attempt < ATTEMPTS; attempt += 1)
    answer = await call(operation, wanted);
  const { status, body } = answer;
  if (status < 300) made.set(operation.path, body.id ?? body.requestId);
}

function bodyOf(operation: Operation): unknown {
  const example = exampleBodyOf(operation);
  const more = MORE[operation.operationId]?.();
  return more === undefined ? example : { ...(example as object), ...more };
}

/** What is there is not to be removed before the others had it. */
function pathValue({ method, path, raw }: Operation, name: string): string {
  if (method === 'DELETE') return NOBODY;
  const parameter = raw.parameters.find((candidate: { name: string }) => candidate.name === name);
  return made.get(path.split(`/{${name}}`)[0] ?? '') ?? parameter?.schema?.example ?? NOBODY;
}

function call(operation: Operation, { path, body, headers = {} }: Partial<HostileCall> & { path: string }) {
  // A credential of its own is looked at only where no other is shown.
  const hasOwn = 'cookie' in headers || 'x-api-key' in headers;
  const key = hasOwn ? undefined : operation.raw['x-person'] === true ? person : apiKey;
  return service.call(operation.method, path, { key, headers, ...(body === undefined ? {} : { body }) });
}

/** What is wrong with the answer, if anything. */
function faultOf({ path }: Operation, answer: Answer): string | undefined {
  // A service that has its hands full may say so; a value that the database does not take looks like its absence.
  const isBusy = answer.headers.has('retry-after') && answer.body.code !== 'database.unavailable';
  if (answer.status >= 500 && !isBusy) return `${answer.status} ${answer.body.code}`;
  if (answer.status < 400 || OTHER_ERRORS.test(path)) return undefined;
  try {
    assertProblem(answer, { status: answer.status, code: answer.body.code });
    return answer.body.code === 'request.invalid' && answer.body.errors === undefined ? 'no pointer' : undefined;
  } catch (error) {
    return `${answer.status}, no problem: ${String(error)}`;
  }
}

/** The calls that were not answered as they should be, written so that they can be repeated by hand. */
async function faultsOf(calls: readonly HostileCall[]): Promise<string[]> {
  const waiting = calls[Symbol.iterator]();
  const faults: string[] = [];
  const work = async () => {
    for (const hostile of waiting) {
      const { operation, path, body = '' } = hostile;
      const fault = await call(operation, hostile).then((answer) => faultOf(operation, answer), String);
      if (fault !== undefined)
        faults.push(`${fault}: ${operation.method} ${path.slice(0, 500)} ${body.slice(0, 1000)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return faults;
}

it(`no hostile value in any place of any call is answered by anything but a problem (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const good = { pathValue, body: bodyOf };
  const calls = OPERATIONS.flatMap((operation) => someOf(hostileCallsOf(operation, good), CALLS_PER_OPERATION, random));
  expect(calls.length).toBeGreaterThan(10_000);
  expect(await faultsOf(someOf(calls, calls.length, random))).toEqual([]);
}, 300_000);

it('what was stored can still be read, in lists and one by one', async () => {
  const reading = OPERATIONS.filter(({ method }) => method === 'GET');
  const calls = reading.map((operation) => ({
    operation,
    path: operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(pathValue(operation, name))),
    headers: {},
    body: undefined,
  }));
  expect(await faultsOf(calls)).toEqual([]);
});

it('a worker can work with what was stored', async () => {
  const worker = await stage.start({ role: 'worker' });
  await sleep(5000);
  expect(
    worker
      .log()
      .split('\n')
      .filter((line) => / ERROR /.test(line)),
  ).toEqual([]);
  await worker.kill();
});
