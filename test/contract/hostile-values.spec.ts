import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { type ExampleCalls, openExamples } from '../support/example-calls.js';
import { type HostileCall, hostileCallsOf, randomOf, someOf } from '../support/hostile-values.js';
import { longCallsOf } from '../support/long-texts.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Answer } from '../support/service.js';
import { openStage, type Stage } from '../support/stage.js';

/** Seed of the generated calls. To generate other or more calls: `SW_TEST_SEED=7 SW_TEST_CALLS=400 npm test -- test/contract/hostile-values.spec.ts`. */
const SEED = Number(process.env['SW_TEST_SEED'] ?? 1);
const CALLS_PER_OPERATION = Number(process.env['SW_TEST_CALLS'] ?? 8);
const AT_ONCE = 8;
/** Operations that would invalidate the session or password used by the other calls. */
const LEFT_OUT = ['signOut', 'endSession', 'endOtherSessions', 'changePassword'];
/** Paths with error formats of other protocols: RFC 6749, RFC 3161, Vault and SignServer. */
const OTHER_ERRORS = /^\/(?:oauth\/|tsa(?:$|\/)|rest\/|v1\/(?:transit|sys|auth)\/)/;
const OPERATIONS = operationsOf(shippedDocument()).filter(
  ({ operationId, path }) => !LEFT_OUT.includes(operationId) && !path.endsWith('/events'),
);

let stage: Stage;
let examples: ExampleCalls;

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

beforeAll(async () => {
  stage = await openStage();
  const settings = { SVC_RATE_LIMIT_PER_MINUTE: '100000000' };
  examples = await openExamples(stage, await stage.start({ role: 'api', settings }));
  await examples.makeAll(OPERATIONS);
  // Most calls would be rejected at the first check if these resources did not exist.
  expect([...examples.made].filter(([, id]) => id !== undefined).map(([path]) => path)).toEqual(
    expect.arrayContaining(THERE),
  );
});
afterAll(() => stage.close());

/** Returns a description of the fault in the response, or undefined if there is none. */
function faultOf({ path }: Operation, answer: Answer): string | undefined {
  // A busy service may return 5xx, but must not report that the database is unavailable if the database rejects a value.
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

/** Returns the calls that received an invalid response, in a form from which the calls can be repeated by hand. */
async function faultsOf(calls: readonly HostileCall[]): Promise<string[]> {
  const waiting = calls[Symbol.iterator]();
  const faults: string[] = [];
  const work = async () => {
    for (const hostile of waiting) {
      const { operation, path, body = '' } = hostile;
      const fault = await examples.call(operation, hostile).then((answer) => faultOf(operation, answer), String);
      if (fault !== undefined)
        faults.push(`${fault}: ${operation.method} ${path.slice(0, 500)} ${body.slice(0, 1000)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return faults;
}

it('10,000 characters in any text of any call are rejected or stored, and never cause a server error', async () => {
  const good = {
    pathValue: (operation: Operation, name: string) => examples.idFor(operation, name),
    body: (operation: Operation) => examples.bodyOf(operation),
  };
  const { schemas } = shippedDocument().components;
  const calls = OPERATIONS.flatMap((operation) => longCallsOf(operation, good, schemas));
  expect(calls.length).toBeGreaterThan(2 * OPERATIONS.length);
  expect(await faultsOf(calls)).toEqual([]);
}, 600_000);

it(`no hostile value in any place of any call is answered by anything but a problem (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const good = {
    pathValue: (operation: Operation, name: string) => examples.idFor(operation, name),
    body: (operation: Operation) => examples.bodyOf(operation),
  };
  const calls = OPERATIONS.flatMap((operation) => someOf(hostileCallsOf(operation, good), CALLS_PER_OPERATION, random));
  expect(calls.length).toBeGreaterThan(5 * OPERATIONS.length);
  expect(await faultsOf(someOf(calls, calls.length, random))).toEqual([]);
}, 1_500_000);

it('stored values can be read, in lists and individually', async () => {
  const reading = OPERATIONS.filter(({ method }) => method === 'GET');
  const calls = reading.map((operation) => ({
    operation,
    path: examples.pathOf(operation),
    headers: {},
    body: undefined,
  }));
  expect(await faultsOf(calls)).toEqual([]);
});

it('a worker can process stored values', async () => {
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
