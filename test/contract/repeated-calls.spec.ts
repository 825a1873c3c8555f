import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { type ExampleCalls, openExamples } from '../support/example-calls.js';
import { assertProblem } from '../support/refused-calls.js';
import { openStage, type Stage } from '../support/stage.js';

const OPERATIONS = operationsOf(shippedDocument());
const MAKING = OPERATIONS.filter(({ method, raw }) => method === 'POST' && '201' in raw.responses);
const isRepeatable = ({ raw }: Operation) =>
  raw.parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key');

/** Operations that do not need an Idempotency-Key, each with the reason. */
const WITHOUT: Record<string, string> = {
  beginTotp: 'it counts for nothing before it is confirmed',
  openSession: 'a sign-in is not to be had without the password again',
  pinHostKey: 'a key that is pinned is pinned',
  register: 'an address registers once',
  renewSensorKey: 'a new key does not end those in use: test/sensors/sensors',
  replaceOAuthClientSecret: 'the old secret has ended either way',
  replaceRecoveryCodes: 'the old codes have ended either way',
  rotateApiKey: 'a key that was replaced is not replaced again',
  rotateWebhookSecret: 'a new secret does not end those in use: test/alerts/webhooks',
};
/** Operations for which an example is not sufficient. These operations are tested in test/signing and test/ssh-keys/ssh-login. */
const ELSEWHERE = ['importCertificate', 'loginBySsh', 'onboardCertificate'];

/** Error code for a repeated call while the rotation is still in progress. */
const UNDER_WAY = 'signing-key.rotating';

let stage: Stage;
let examples: ExampleCalls;

beforeAll(async () => {
  stage = await openStage();
  examples = await openExamples(stage, await stage.start({ role: 'api' }));
  await examples.makeAll(OPERATIONS);
});
afterAll(() => stage.close());

it('every creating operation accepts an Idempotency-Key, or is listed as not requiring one', () => {
  const others = MAKING.filter((operation) => !isRepeatable(operation)).map(({ operationId }) => operationId);
  expect(others.toSorted()).toEqual(Object.keys(WITHOUT).toSorted());
});

const REPEATED = MAKING.filter((operation) => isRepeatable(operation) && !ELSEWHERE.includes(operation.operationId));

it.each(REPEATED.map((operation) => [operation.operationId, operation] as const))(
  '%s creates one resource, however often it is called with one key',
  async (_, operation) => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = differing(operation, examples.bodyOf(operation), 1);
    const call = (wanted: unknown) => examples.callPatiently(operation, wanted, headers);
    const atOnce = await Promise.all([call(body), call(body), call(body)]);
    const answers = [...atOnce.filter((answer) => answer.body.code !== UNDER_WAY), await call(body)];
    const made = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status !== 201);
    for (const answer of refused) {
      assertProblem(answer, { status: 409, code: 'idempotency.secret-shown' });
      expect(answer.body.instance).toMatch(/^\/api\//);
    }
    // A secret is shown once. For any other resource, every repeated call returns the current state.
    expect(made).toHaveLength(refused.length > 0 ? 1 : answers.length);
    expect(new Set(made.map((answer) => answer.body.id ?? JSON.stringify(answer.body))).size).toBe(1);
    assertProblem(await call(differing(operation, body, 2)), { status: 422, code: 'idempotency.other-body' });
  },
);

type Told = Record<string, unknown>;

/** Members whose value can be changed to obtain a body with a different meaning. */
const TELLING = ['name', 'email', 'keyId', 'owner'];
const OTHERWISE: Record<string, (told: Told, n: number) => Told> = {
  addHostAuthority: (told) => ({ ...told, publicKey: publicKeyLine() }),
  attest: ({ scope }, n) => ({ pack: examples.made.get('/api/policy-packs'), scope, statement: `Reviewed, ${n}` }),
  createWorkloadIssuer: (told, n) => ({ ...told, issuer: `https://issuer-${n}.example.com` }),
  createCertificationRequest: ({ subject }, n) => ({ subject: { ...(subject as Told), commonName: `Release ${n}` } }),
  rotateSigningKey: (_, n) => ({ activate: n === 1 ? 'with-certificate' : 'now' }),
};

/** Returns a valid body with a different meaning. */
function differing({ operationId }: Operation, body: unknown, n: number): unknown {
  const told = body as Told;
  const otherwise = OTHERWISE[operationId];
  if (otherwise !== undefined) return otherwise(told, n);
  const member = TELLING.find((name) => name in told);
  if (member === undefined) throw new Error(`nothing to say otherwise: ${Object.keys(told).join(' ')}`);
  return { ...told, [member]: `${n}-${String(told[member])}` };
}

/** Creates a public key line. Any 32 bytes are a valid Ed25519 key (RFC 8709 section 4). */
function publicKeyLine(): string {
  const length = (bytes: number) => Buffer.from([0, 0, 0, bytes]);
  const blob = Buffer.concat([length(11), Buffer.from('ssh-ed25519'), length(32), randomBytes(32)]);
  return `ssh-ed25519 ${blob.toString('base64')}`;
}
