import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inDays, newApiKey } from '../support/access.js';
import { type Operation, operationsOf, shippedDocument } from '../support/api-document.js';
import { exampleBodyOf } from '../support/example-values.js';
import { assertProblem } from '../support/refused-calls.js';
import { digestOf, sign } from '../support/signing.js';
import { TIMESTAMP_QUERY } from '../support/timestamps.js';
import { BEYOND, CLIENTS, KEYS, LimitedCredentials, orderOf, OTHER, REFUSAL } from './limited-credentials.js';
import { makeClient } from './oauth-calls.js';

let place: LimitedCredentials;

beforeAll(async () => {
  place = await LimitedCredentials.open();
});
afterAll(() => place.stage.close());

const timestampQuery = () => execFileSync('openssl', ['ts', '-query', '-digest', '00'.repeat(32), '-sha256']);

/** Scopes whose operations use or show a signing key. */
const SCOPES = ['sign:digest', 'timestamps:issue', 'signing-keys:read', 'signing-keys:write'];
/** Operations whose calls do not name a signing key, each with the reason. */
const WITHOUT_KEY: Readonly<Record<string, string>> = {
  listSigningKeys: 'omits keys that the caller cannot use',
  listTransitKeys: 'omits keys that the caller cannot use',
  listOpenPgpCertificates: 'omits keys that the caller cannot use',
  listCertificates: 'omits certificates of keys that the caller cannot use',
  onboardCertificate: 'stores a certificate of an external key',
  attestBuild: 'is only for workloads, whose keys the tests of workloads limit',
  issueTimestampByKey: 'the path contains the credential, which has a test of its own',
};
const DOCUMENT = operationsOf(shippedDocument());
const OPERATIONS = DOCUMENT.filter(
  ({ scopes, path }) =>
    scopes?.some((scope) => SCOPES.includes(scope)) === true || path.startsWith('/api/v1/signing-keys/'),
);

describe('an API key limited to "release-*"', () => {
  let bound: string;
  /** ID and PEM of the other key's certificate. */
  let certificate: { id: string; chain: string[] };
  let attestationId: string;

  beforeAll(async () => {
    ({ key: bound } = await place.limited(['release-*']));
    const path = `/api/v1/signing-keys/${place.other.id}`;
    await place.call('POST', `${path}/self-signed-certificate`, { body: { subject: { commonName: 'other' } } });
    const { certificateId } = (await place.call('GET', path)).body;
    certificate = (await place.call('GET', `/api/v1/certificates/${certificateId}`)).body;
    const body = { pack: 'cnsa-2.0', statement: 'As it stands.', evidence: [{ description: 'Minutes' }] };
    attestationId = (await place.call('POST', '/api/attestations', { body })).body.id;
  });

  const bodies = (): Readonly<Record<string, unknown>> => ({
    signDigest: { digest: digestOf('x'), key: OTHER },
    createSigningKey: { name: 'other-b', type: 'ec-p256' },
    importCertificate: { chain: certificate.chain.join('') },
    issueTimestamp: timestampQuery(),
  });

  /** Returns a request body for the operation that names the other key wherever the body contains a key. */
  function bodyOf(operation: Operation): unknown {
    const { operationId, path, raw } = operation;
    if (operationId in bodies()) return bodies()[operationId];
    if (path.startsWith('/v1/transit/sign/')) return { input: digestOf('x'), prehashed: true };
    const example = raw.requestBody === undefined ? undefined : exampleBodyOf(operation);
    if (typeof example !== 'object' || example === null) return example;
    const named = { key: OTHER, postQuantumKey: 'demo-rsa' };
    return { ...example, ...Object.fromEntries(Object.entries(named).filter(([name]) => name in example)) };
  }

  function pathOf({ path, operationId, raw }: Operation): string {
    const id = path.startsWith('/api/attestations') ? attestationId : place.other.id;
    const parts: Record<string, string> = { id, name: OTHER, hash: 'sha2-256', type: 'public-key', version: '1' };
    if (operationId === 'getCertificate') parts['id'] = certificate.id;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name] ?? name);
    const parameters: { name: string; in: string }[] = raw.parameters ?? [];
    return parameters.some((one) => one.name === 'key' && one.in === 'query') ? `${filled}?key=${OTHER}` : filled;
  }

  it('signs with the key release-a, by name and by ID', async () => {
    expect((await place.signWith(bound, place.own.name)).status).toBe(200);
    const order = { digest: digestOf('id'), key: place.own.id };
    expect((await sign(place.service, { key: bound, body: order })).status).toBe(200);
  });

  it.each(OPERATIONS.filter((one) => !(one.operationId in WITHOUT_KEY)).map((one) => [one.operationId, one] as const))(
    'cannot use another key with %s',
    async (operationId, operation) => {
      const headers: Record<string, string> = operation.method === 'PATCH' ? { 'if-match': '"1"' } : {};
      if (operationId === 'issueTimestamp') headers['content-type'] = TIMESTAMP_QUERY;
      const answer = await place.call(operation.method, pathOf(operation), {
        body: bodyOf(operation),
        by: bound,
        headers,
      });
      const refused = expect.stringContaining('this credential does not allow key');
      expect([answer.status, JSON.stringify(answer.body)]).toEqual([403, refused]);
    },
  );

  it('is refused another key by ID, an unknown key and the default key with the same message', async () => {
    const refused = async (order: object) => {
      const answer = await sign(place.service, { key: bound, body: { digest: digestOf('y'), ...order } });
      assertProblem(answer, { ...REFUSAL, pointer: '/key' });
      return answer.body.detail as string;
    };
    expect(await refused({ key: place.other.id })).not.toContain(OTHER);
    expect((await refused({ key: 'unknown' })).replace('unknown', OTHER)).toBe(await refused({ key: OTHER }));
    await refused({});
    await refused({ key: OTHER, async: true });
    for (const format of ['cms', 'jws', 'sigstore-bundle', 'dsse']) await refused({ key: OTHER, format });
  });

  it.each(
    OPERATIONS.filter(({ path }) => /\/signing-keys\/\{id\}|\/transit\/[^{]*\{name\}/.test(path)).map(
      (one) => [one.operationId, one] as const,
    ),
  )('cannot find out with %s whether another key exists', async (_, operation) => {
    const shown = async (name: string) => {
      const headers: Record<string, string> = operation.method === 'PATCH' ? { 'if-match': '"1"' } : {};
      const path = operation.path.replace(/\{(?:id|name)\}/, name).replace('{type}', 'public-key');
      const body = bodyOf(operation);
      const answer = await place.call(operation.method, path, { body, by: bound, headers });
      const { code, detail, errors } = answer.body;
      return [answer.status, JSON.stringify({ code, detail, errors }).replaceAll(name, 'NAME')];
    };
    expect(await shown(OTHER)).toEqual(await shown('unknown'));
  });

  it('is not shown the other keys in an export with own keys', async () => {
    const exported = async (by?: string) =>
      JSON.stringify((await place.call('GET', '/api/export/cyclonedx?own=true', { by })).body);
    expect(await exported()).toContain(`${OTHER} v1`);
    const shown = await exported(bound);
    expect(shown).toContain(`${place.own.name} v1`);
    expect(shown).not.toContain(`${OTHER} v1`);
    expect(shown).not.toContain(`"symbol":"${OTHER}"`);
  });

  it('is refused a batch with another key as a whole, so that nothing is recorded', async () => {
    const count = () => place.stage.sql(`SELECT count(*) FROM signing_request`);
    const before = await count();
    const items = [{ digest: digestOf('1') }, { digest: digestOf('2') }];
    for (const key of [OTHER, place.other.id]) {
      const body = { key, items };
      assertProblem(await place.call('POST', '/api/v1/sign/batch', { body, by: bound }), REFUSAL);
    }
    const body = { key: place.own.name, postQuantumKey: OTHER, digest: digestOf('dual') };
    assertProblem(await place.call('POST', '/api/v1/sign/dual', { body, by: bound }), REFUSAL);
    expect(await count()).toEqual(before);
    const own = { key: place.own.name, items };
    expect((await place.call('POST', '/api/v1/sign/batch', { body: own, by: bound })).status).toBe(200);
  });

  it('sees only its keys in lists, on every page', async () => {
    const names: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await place.call('GET', `/api/v1/signing-keys?limit=1${cursor}`, { by: bound });
      names.push(...body.items.map(({ name }: { name: string }) => name));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(names).toEqual([place.own.name]);
    expect((await place.call('GET', '/v1/transit/keys', { by: bound })).body.data.keys).toEqual([place.own.name]);
    const certificates = async (by?: string) => {
      const { body } = await place.call('GET', '/api/v1/certificates', { by });
      return body.items.map(({ id }: { id: string }) => id);
    };
    expect(await certificates()).toContain(certificate.id);
    expect(await certificates(bound)).not.toContain(certificate.id);
  });

  it('can create a key that the pattern includes, and use it', async () => {
    const body = { name: 'release-b', type: 'ec-p256' };
    const made = await place.call('POST', '/api/v1/signing-keys', { body, by: bound });
    expect(made.status).toBe(201);
    expect((await place.signWith(bound, 'release-b')).status).toBe(200);
    expect((await place.call('GET', `/api/v1/signing-keys/${made.body.id}`, { by: bound })).status).toBe(200);
  });

  it('does not learn from the filter `key` of a list which other keys exist', async () => {
    for (const list of ['/api/v1/sign/requests', '/api/v1/approvals']) {
      const filtered = (name: string) => place.call('GET', `${list}?key=${name}`, { by: bound });
      expect((await filtered(place.own.name)).status).toBe(200);
      const [other, unknown] = [await filtered(OTHER), await filtered('unknown')];
      assertProblem(other, REFUSAL);
      assertProblem(unknown, REFUSAL);
      expect(unknown.body.detail.replace('unknown', OTHER)).toBe(other.body.detail);
    }
  });

  it('verifies signatures of every key, because this needs no private key', async () => {
    const { signature } = (await place.signWith(place.apiKey, OTHER)).body;
    const body = { digest: digestOf(OTHER), signature, key: OTHER };
    expect((await place.call('POST', '/api/v1/verify', { body, by: bound })).body.valid).toBe(true);
  });

  it('is shown its limits, and a key without limits is shown as such', async () => {
    const keysOf = async (by?: string) => (await place.call('GET', '/api/auth/me', { by })).body.keys;
    expect(await keysOf(bound)).toEqual(['release-*']);
    expect(await keysOf()).toBeNull();
    expect((await place.limited(undefined, ['sign:read'])).keys).toBeNull();
  });
});

it('a key in the URL of the timestamp authority can be limited to the key of the authority', async () => {
  const ask = async (keys?: string[]) => {
    const { key } = await place.limited(keys, ['timestamps:issue']);
    const headers = { 'content-type': TIMESTAMP_QUERY };
    return place.service.call('POST', `/tsa/${key}`, { body: timestampQuery(), headers });
  };
  assertProblem(await ask(['release-*']), REFUSAL);
  expect((await ask(['tsa'])).status).toBe(200);
  expect((await ask()).status).toBe(200);
});

describe('a limited credential cannot grant more than it has', () => {
  let bound: string;
  let boundId: string;

  beforeAll(async () => {
    ({ key: bound, id: boundId } = await place.limited(['release-*']));
  });

  it('to a new API key, which has the same limits by default', async () => {
    expect((await place.limited(undefined, ['sign:digest'], bound)).keys).toEqual(['release-*']);
    expect((await place.limited(['release-a', 'release-*-ci'], ['sign:digest'], bound)).keys).toHaveLength(2);
    for (const keys of [['*'], ['rel*'], ['release-a', OTHER]]) {
      const body = orderOf(['sign:digest'], { keys });
      assertProblem(await place.call('POST', KEYS, { body, by: bound }), BEYOND);
    }
  });

  it('to a new OAuth client or trust', async () => {
    const client = { name: 'limited', permissions: ['sign:digest'] };
    const made = await place.call('POST', CLIENTS, { body: client, by: bound });
    expect(made.body.signingKeys).toEqual(['release-*']);
    const wide = await place.call('POST', CLIENTS, { body: { ...client, signingKeys: ['*'] }, by: bound });
    assertProblem(wide, { status: 403, code: 'oauth-client.beyond-caller' });
    const conditions = [{ claim: 'sub', values: ['a'] }];
    const trust = { name: 'limited', issuerId: place.other.id, conditions, scopes: ['sign:digest'], keys: ['*'] };
    const trusted = await place.call('POST', '/api/settings/workload-trusts', { body: trust, by: bound });
    assertProblem(trusted, { status: 403, code: 'workload-trust.beyond-caller' });
  });

  it('by changing the limits of a credential, such as its own', async () => {
    for (const keys of [null, ['*'], ['release-*', OTHER]])
      assertProblem(await place.patch(`${KEYS}/${boundId}`, { keys }, { by: bound }), BEYOND);
    const { id } = await place.limited(undefined, ['sign:digest']);
    expect((await place.patch(`${KEYS}/${id}`, { keys: ['release-a'] }, { by: bound })).status).toBe(200);
  });

  it('by obtaining the secret of a credential with wider limits', async () => {
    const wide = await newApiKey(place.service, place.apiKey, ['sign:digest']);
    const body = { expiry: inDays(1), overlapHours: 1 };
    assertProblem(await place.call('POST', `${KEYS}/${wide.id}/rotate`, { body, by: bound }), BEYOND);
    const client = await makeClient(place.service, place.apiKey, ['sign:digest']);
    const secret = await place.call('POST', `${CLIENTS}/${client.client_id}/secret`, { by: bound });
    assertProblem(secret, { status: 403, code: 'oauth-client.beyond-caller' });
  });

  it('by rotating itself: the new key has the same limits', async () => {
    const body = { expiry: inDays(1), overlapHours: 1 };
    const { body: next } = await place.call('POST', `${KEYS}/${boundId}/rotate`, { body, by: bound });
    expect(next.keys).toEqual(['release-*']);
    assertProblem(await place.signWith(next.key, OTHER), REFUSAL);
    expect((await place.signWith(next.key, place.own.name)).status).toBe(200);
  });
});
