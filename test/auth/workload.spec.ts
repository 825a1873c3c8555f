import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { held, newApprover, newGuardedKey, unique, vote } from '../approvals/approvers.js';
import { GITHUB, GITHUB_PULL_REQUEST, KUBERNETES } from '../fakes/workload-claims.js';
import { type Misbehaviour, WorkloadIssuer } from '../fakes/workload-issuer.js';
import { newApiKey } from '../support/access.js';
import { assertProblem } from '../support/refused-calls.js';
import type { Service } from '../support/service.js';
import { digestOf, read, sign, until } from '../support/signing.js';
import type { Stage } from '../support/stage.js';
import { assertOAuthError, postForm } from './oauth-calls.js';
import {
  AUDIENCE,
  exchange,
  JWT_BEARER,
  newTrust,
  openWorkloadStage,
  releaseClaims,
  RELEASES,
  runOf,
  trustIssuer,
} from './workload-calls.js';

const issuer = new WorkloadIssuer();
let stage: Stage;
let service: Service;
let key: string;
let issuerId: string;

beforeAll(async () => {
  ({ stage, service, key, issuerId } = await openWorkloadStage(issuer));
});
afterAll(async () => {
  await issuer.stop();
  await stage.close();
});

const now = () => Math.floor(Date.now() / 1000);
const good = (life?: number) => releaseClaims(issuer, life);
const signWith = (token: string, body: object = {}) =>
  sign(service, { key: token, body: { digest: digestOf('release'), ...body } });

describe('a job token is exchanged for an access token', () => {
  it('by token exchange (RFC 8693): short-lived, without refresh, with the scopes of the trust', async () => {
    const { status, body } = await exchange(service, await issuer.tokenFor(GITHUB, AUDIENCE));
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      expires_in: 900,
      scope: 'sign:digest sign:read',
    });
    const { body: who } = await service.call('GET', '/api/auth/me', { key: body.access_token });
    expect(who).toMatchObject({
      kind: 'workload',
      name: `releases: ${GITHUB.sub}`,
      scopes: ['sign:digest', 'sign:read'],
    });
  });

  it('by JWT bearer (RFC 7523), with fewer scopes if requested', async () => {
    const assertion = await issuer.tokenFor(GITHUB, AUDIENCE);
    const { body } = await postForm(service, '/oauth/token', { grant_type: JWT_BEARER, assertion, scope: 'sign:read' });
    expect(body).toMatchObject({ scope: 'sign:read', expires_in: 900 });
    expect((await signWith(body.access_token)).status).toBe(403);
  });

  it('that signs, reads requests of this workload from any run, and nothing of others', async () => {
    const { body: foreign } = await signWith(key);
    const [first, second] = [await runOf(service, issuer), await runOf(service, issuer)];
    const { status, body } = await signWith(first);
    expect(status).toBe(200);
    expect(body.verified).toMatchObject({ trust: { name: 'releases' }, claims: { repository: 'octo-org/octo-repo' } });
    expect((await read(service, second, body.requestId)).status).toBe(200);
    const other = await runOf(service, issuer, {
      ...GITHUB,
      sub: 'repo:octo-org@123456/octo-repo@456789:ref:refs/tags/v2',
      ref: 'refs/tags/v2',
    });
    expect((await read(service, other, body.requestId)).status).toBe(404);
    expect((await read(service, first, foreign.requestId)).status).toBe(404);
    const { body: list } = await service.call('GET', '/api/v1/sign/requests', { key: other });
    expect(list.items).toEqual([]);
    const left = async (token: string) => {
      const { headers } = await service.call('GET', '/api/auth/me', { key: token });
      return Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    };
    // All runs of a trust share one quota. Retries, because a new one-minute window may begin between two calls.
    await until('one quota', 10, async () => (await left(first)) - (await left(second)) === 1);
  });

  it('that uses only keys of the trust, and no operations for people or other credentials', async () => {
    await newTrust({ service, key }, issuerId, { name: 'one key', keys: ['demo-*'] });
    const token = await runOf(service, issuer, GITHUB, { trust: 'one key' });
    assertProblem(await signWith(token, { key: 'default' }), { status: 403, code: 'workload-trust.key' });
    expect((await signWith(token, { key: 'demo-rsa' })).status).toBe(200);
    for (const path of ['/api/settings/users', '/v1/hosts', '/api/v1/audit/entries', '/api/v1/approvals'])
      expect((await service.call('GET', path, { key: token })).status).toBe(403);
    await service.call('DELETE', `/api/settings/workload-trusts/${await idOfTrust('one key')}`, { key });
  });
});

async function idOfTrust(name: string): Promise<string> {
  const { body } = await service.call('GET', '/api/settings/workload-trusts?limit=200', { key });
  return (body.items as { id: string; name: string }[]).find((one) => one.name === name)?.id ?? '';
}

describe('a workload token is rejected', () => {
  const refused = async (token: string, why: RegExp) => {
    const answer = await exchange(service, token);
    assertOAuthError(answer, 400, 'invalid_grant');
    expect(answer.body.error_description).toMatch(why);
  };

  it.each<[string, object, RegExp]>([
    ['for another audience', { aud: 'https://other.example' }, /audience/],
    ['of an issuer that is not trusted', { iss: 'https://issuer.example' }, /not trusted/],
    ['that has expired', { iat: now() - 400, exp: now() - 100 }, /expired/],
    ['from the future', { iat: now() + 600, exp: now() + 900 }, /iat/],
    ['of a repository with a longer name', { repository: 'octo-org/octo-repo-evil' }, /repository/],
    ['of a ref with a path upwards', { ref: 'refs/tags/v1/../x' }, /ref claim/],
    ['of a repository in another case', { repository: 'Octo-org/octo-repo' }, /repository/],
    ['of a repository with a Cyrillic letter', { repository: 'octo-оrg/octo-repo' }, /repository/],
  ])('%s', async (_what, change, why) => {
    await refused(await issuer.sign({ ...good(), ...change }), why);
  });

  it('for a pull request from a fork, unless the trust allows it', async () => {
    const conditions = [{ claim: 'repository', values: ['octo-org/octo-repo'] }];
    const { id } = await newTrust({ service, key }, issuerId, {
      name: unique('any'),
      conditions,
      audience: 'https://pr.example',
    });
    const ask = async () => exchange(service, await issuer.tokenFor(GITHUB_PULL_REQUEST, 'https://pr.example'));
    assertOAuthError(await ask(), 400, 'invalid_grant');
    await service.call('DELETE', `/api/settings/workload-trusts/${id}`, { key });
    await newTrust({ service, key }, issuerId, { conditions, audience: 'https://pr.example', pullRequests: true });
    expect((await ask()).status).toBe(200);
  });

  it('with another key, with alg none, and with the public key as a secret', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    await refused(await other.sign(good()), /does not match any key/);
    await other.stop();
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const alg of ['none', 'HS256'])
      await refused(`${encoded({ alg, kid: '1' })}.${encoded(good())}.AAAA`, /asymmetric algorithm/);
  });

  it('if it was used: of ten concurrent uses one is accepted', async () => {
    const token = await issuer.tokenFor(GITHUB, AUDIENCE);
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(service, token)));
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array.from({ length: 9 }, () => 400),
    ]);
    await refused(token, /already been used/);
  });

  it('with a scope outside the trust, or as another token type', async () => {
    assertOAuthError(
      await exchange(service, await issuer.tokenFor(GITHUB, AUDIENCE), { scope: 'admin:*' }),
      400,
      'invalid_scope',
    );
    const type = { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' };
    assertOAuthError(await exchange(service, await issuer.tokenFor(GITHUB, AUDIENCE), type), 400, 'invalid_request');
  });

  it('and the rejection is audited', async () => {
    const token = await issuer.sign({ ...good(), ref: 'refs/heads/main' });
    const { headers } = await exchange(service, token);
    const entries = await stage.sql(
      `SELECT outcome, detail ->> 'code' AS code FROM audit_entry WHERE action = 'request.refused' AND correlation = $1`,
      [headers.get('x-request-id')],
    );
    expect(entries).toEqual([{ outcome: 'refused', code: 'oauth.refused' }]);
  });
});

describe('a workload trust', () => {
  const gone = (token: string) =>
    until(
      'the end of the token',
      10,
      async () => (await service.call('GET', '/api/auth/me', { key: token })).status === 401,
    );

  it('ends its tokens when it is disabled, changed or deleted', async () => {
    const { id } = await newTrust({ service, key }, issuerId, { name: 'ending', audience: 'https://ending.example' });
    const order = {
      name: 'ending',
      issuerId,
      audience: 'https://ending.example',
      conditions: RELEASES,
      scopes: ['sign:digest'],
      keys: ['*'],
    };
    const run = async () => {
      const { body } = await exchange(service, await issuer.tokenFor(GITHUB, 'https://ending.example'));
      return body.access_token as string;
    };
    const put = (version: number, change: object) =>
      service.call('PUT', `/api/settings/workload-trusts/${id}`, {
        key,
        body: { ...order, ...change },
        headers: { 'if-match': `"${version}"` },
      });
    const first = await run();
    expect((await put(1, { enabled: false })).status).toBe(200);
    await gone(first);
    assertOAuthError(
      await exchange(service, await issuer.tokenFor(GITHUB, 'https://ending.example')),
      400,
      'invalid_grant',
    );
    expect((await put(2, {})).status).toBe(200);
    const second = await run();
    expect((await put(3, { lifeSeconds: 300 })).status).toBe(200);
    await gone(second);
    const third = await run();
    expect((await service.call('DELETE', `/api/settings/workload-trusts/${id}`, { key })).status).toBe(204);
    await gone(third);
  });

  it('cannot be named like the ID of another trust, which a policy may exempt', async () => {
    const { body } = await service.call('GET', '/api/settings/workload-trusts?limit=1', { key });
    const { id, audience, conditions, scopes, keys } = body.items[0];
    const order = { name: id, issuerId, audience, conditions, scopes, keys };
    const refused = await service.call('POST', '/api/settings/workload-trusts', { key, body: order });
    assertProblem(refused, { status: 400, code: 'request.invalid', pointer: '/name' });
  });

  it('ends its tokens when its issuer is disabled, even after the issuer is enabled again', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const order = { name: unique('issuer'), issuer: other.issuer };
    const { id } = await trustIssuer({ service, key }, order);
    await newTrust({ service, key }, id, { audience: 'https://paused.example' });
    const { body } = await exchange(service, await other.tokenFor(GITHUB, 'https://paused.example'));
    for (const enabled of [false, true]) {
      const headers = { 'if-match': `"${enabled ? 2 : 1}"` };
      const change = { key, body: { name: order.name, enabled }, headers };
      expect((await service.call('PUT', `/api/settings/workload-issuers/${id}`, change)).status).toBe(200);
    }
    await gone(body.access_token);
    await other.stop();
  });

  it('ends its tokens when its issuer is deleted', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const { id } = await trustIssuer({ service, key }, { issuer: other.issuer });
    await newTrust({ service, key }, id, { audience: 'https://removed.example' });
    const { body } = await exchange(service, await other.tokenFor(GITHUB, 'https://removed.example'));
    expect((await service.call('DELETE', `/api/settings/workload-issuers/${id}`, { key })).status).toBe(204);
    await gone(body.access_token);
    assertOAuthError(
      await exchange(service, await other.tokenFor(GITHUB, 'https://removed.example')),
      400,
      'invalid_grant',
    );
    await other.stop();
  });
});

describe('issuer keys', () => {
  it('are fetched again when none matches, and the change is audited', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const { id, keys: before } = await trustIssuer({ service, key }, { issuer: other.issuer });
    await newTrust({ service, key }, id, { audience: 'https://rotated.example' });
    await other.rotate();
    const ask = async () => exchange(service, await other.tokenFor(GITHUB, 'https://rotated.example'));
    assertOAuthError(await ask(), 400, 'invalid_grant');
    // The issuer's keys have just been fetched and are not fetched again for 30 seconds, whatever token is presented.
    expect(other.keyReadings).toBe(1);
    await stage.change(`UPDATE workload_issuer SET keys_asked_at = now() - interval '1 minute' WHERE id = $1`, [id]);
    expect((await ask()).status).toBe(200);
    const entries = await stage.sql<{ detail: { removed: string[] } }>(
      `SELECT detail FROM audit_entry WHERE action = 'workload-issuer.keys-changed' AND target_id = $1`,
      [id],
    );
    expect(entries).toMatchObject([{ detail: { removed: before } }]);
    await other.stop();
  });

  it.each<Misbehaviour>(['away', 'slow', 'huge', 'empty', 'no-json', 'other-issuer', 'inside'])(
    'are not fetched from an issuer that is %s; known keys remain valid for an hour',
    async (how) => {
      const other = new WorkloadIssuer();
      await other.start();
      const { id } = await trustIssuer({ service, key }, { issuer: other.issuer });
      const audience = `https://${how}.example`;
      await newTrust({ service, key }, id, { audience });
      other.misbehaviour = how;
      const age = (text: string) =>
        stage.change(
          `UPDATE workload_issuer SET keys_read_at = now() - $2::interval, keys_asked_at = now() - $2::interval WHERE id = $1`,
          [id, text],
        );
      const token = async () => {
        other.misbehaviour = undefined;
        const issued = await other.tokenFor(GITHUB, audience);
        other.misbehaviour = how;
        return issued;
      };
      await age('30 minutes');
      expect((await exchange(service, await token())).status).toBe(200);
      await age('2 hours');
      const late = await exchange(service, await token());
      assertOAuthError(late, 503, 'temporarily_unavailable');
      expect(late.body.error_description).toMatch(/No usable keys/);
      expect(late.headers.get('retry-after')).toBe('30');
      other.misbehaviour = how;
      const again = { name: unique('issuer'), issuer: `${other.issuer}/x` };
      assertProblem(await service.call('POST', '/api/settings/workload-issuers', { key, body: again }), {
        status: 422,
        code: 'workload-issuer.unusable',
      });
      await other.stop();
    },
    40_000,
  );

  it('can be uploaded if the issuer is unreachable, but never private keys', async () => {
    const other = new WorkloadIssuer();
    await other.start();
    const jwks = await (await fetch(`${other.issuer}/jwks`)).json();
    const order = { issuer: 'https://kubernetes.default.svc.cluster.local', jwks };
    const { id, keySource } = await trustIssuer({ service, key }, order);
    expect(keySource).toBe('uploaded');
    const conditions = [
      { claim: 'sub', values: ['system:serviceaccount:release:signer'] },
      { claim: '/kubernetes.io/pod/name', values: ['signer-*'] },
    ];
    await newTrust({ service, key }, id, { conditions });
    const claims = { ...good(), ...KUBERNETES, iss: order.issuer, aud: [AUDIENCE] };
    expect((await exchange(service, await other.sign(claims))).status).toBe(200);
    const secret = { keys: [{ kty: 'oct', k: 'AAAA' }] };
    const body = { name: unique('issuer'), issuer: 'https://x.example', jwks: secret };
    assertProblem(await service.call('POST', '/api/settings/workload-issuers', { key, body }), {
      status: 422,
      code: 'workload-issuer.unusable',
    });
    await other.stop();
  });

  it('make their uploader equal to any run: they hold what its trusts grant, and cannot approve its requests', async () => {
    const [cluster, mallory] = [new WorkloadIssuer(), new WorkloadIssuer()];
    await Promise.all([cluster.start(), mallory.start()]);
    const keysOf = async (one: WorkloadIssuer) => (await fetch(`${one.issuer}/jwks`)).json();
    const order = { name: unique('cluster'), issuer: 'https://uploaded.example' };
    const { id } = await trustIssuer({ service, key }, { ...order, jwks: await keysOf(cluster) });
    await newTrust({ service, key }, id);
    const upload = async (by: string) =>
      service.call('PUT', `/api/settings/workload-issuers/${id}`, {
        key: by,
        body: { name: order.name, jwks: await keysOf(mallory) },
        headers: { 'if-match': '"1"' },
      });
    const run = async () => exchange(service, await mallory.sign({ ...good(), iss: order.issuer }));
    const narrow = await newApiKey(service, key, ['settings:write', 'sign:read']);
    assertProblem(await upload(narrow.key), { status: 403, code: 'workload-issuer.beyond-caller' });
    assertOAuthError(await run(), 400, 'invalid_grant');

    const place = { stage, service, apiKey: key };
    const [eve, ada] = [await newApprover(place, ['admin', 'approver']), await newApprover(place)];
    const { key: guarded } = await newGuardedKey(place, [{ members: [eve, ada], threshold: 1 }]);
    expect((await upload(eve.accessToken)).status).toBe(200);
    const { body } = await run();
    const asked = { digest: digestOf('a release'), algorithm: 'sha256', key: guarded.name };
    const { approvalId } = await held(place, asked, body.access_token);
    assertProblem(await vote(service, approvalId, eve), { status: 403, code: 'approval.own-request' });
    expect((await vote(service, approvalId, ada)).body.status).toBe('APPROVED');

    const lowered = await service.call('PATCH', `/api/settings/users/${eve.id}`, { key, body: { disabled: true } });
    expect(lowered.status).toBe(200);
    assertOAuthError(await run(), 400, 'invalid_grant');
    const me = () => service.call('GET', '/api/auth/me', { key: body.access_token });
    await until('the end of the token', 10, async () => (await me()).status === 401);
    const repair = { key, body: { name: order.name, jwks: await keysOf(cluster) }, headers: { 'if-match': '"2"' } };
    expect((await service.call('PUT', `/api/settings/workload-issuers/${id}`, repair)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 6000));
    expect((await me()).status).toBe(401);
    await Promise.all([cluster.stop(), mallory.stop()]);
  });

  it('are not fetched from internal addresses (CWE-918)', async () => {
    const body = { name: unique('issuer'), issuer: 'https://169.254.169.254' };
    assertProblem(await service.call('POST', '/api/settings/workload-issuers', { key, body }), {
      status: 422,
      code: 'workload-issuer.unusable',
    });
  });
});
