import { randomUUID } from 'node:crypto';
import { GITHUB } from '../fakes/workload-claims.js';
import type { WorkloadIssuer } from '../fakes/workload-issuer.js';
import type { Answer, Service } from '../support/service.js';
import { unique } from '../approvals/approvers.js';
import { openStage, type Stage } from '../support/stage.js';
import { postForm } from './oauth-calls.js';
import { PEERS_HERE } from './people.js';

export const AUDIENCE = 'https://sign.example.com';
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** Environment of a workload test; `key` is an API key with admin:*. */
export interface WorkloadPlace {
  readonly service: Service;
  readonly key: string;
}

export const RELEASES = [
  { claim: 'repository', values: ['octo-org/octo-repo'] },
  { claim: 'ref', values: ['refs/tags/v*'] },
  { claim: 'job_workflow_ref', values: ['octo-org/octo-repo/.github/workflows/release.yml@refs/tags/v*'] },
];

/** Starts an issuer and a service that trusts it for the releases of one repository. */
export async function openWorkloadStage(
  issuer: WorkloadIssuer,
): Promise<WorkloadPlace & { readonly stage: Stage; readonly issuerId: string }> {
  const stage = await openStage();
  const { apiKey: key } = await stage.seed();
  const service = await stage.start({ settings: PEERS_HERE });
  await issuer.start();
  const { id: issuerId } = await trustIssuer({ service, key }, { issuer: issuer.issuer });
  await newTrust({ service, key }, issuerId, { name: 'releases' });
  return { stage, service, key, issuerId };
}

/** Returns the claims of a release, for tokens that deviate in a single way. @param life lifetime in seconds */
export function releaseClaims(issuer: WorkloadIssuer, life = 300) {
  const now = Math.floor(Date.now() / 1000);
  return { ...GITHUB, iss: issuer.issuer, aud: AUDIENCE, jti: randomUUID(), iat: now, exp: now + life };
}

async function made(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer;
  if (status !== 201) throw new Error(`not made: ${JSON.stringify(body)}`);
  return body;
}

export function trustIssuer({ service, key }: WorkloadPlace, order: object): Promise<Answer['body']> {
  return made(
    service.call('POST', '/api/settings/workload-issuers', { key, body: { name: unique('issuer'), ...order } }),
  );
}

export function newTrust(
  { service, key }: WorkloadPlace,
  issuerId: string,
  order: object = {},
): Promise<Answer['body']> {
  const scopes = ['sign:digest', 'sign:read'];
  const body = {
    name: unique('trust'),
    issuerId,
    audience: AUDIENCE,
    conditions: RELEASES,
    scopes,
    keys: ['*'],
    ...order,
  };
  return made(service.call('POST', '/api/settings/workload-trusts', { key, body }));
}

export function exchange(service: Service, token: string, more: Record<string, string> = {}): Promise<Answer> {
  const type = 'urn:ietf:params:oauth:token-type:jwt';
  return postForm(service, '/oauth/token', {
    grant_type: TOKEN_EXCHANGE,
    subject_token: token,
    subject_token_type: type,
    ...more,
  });
}

/** Returns an access token for a run with these claims. */
export async function runOf(
  service: Service,
  issuer: WorkloadIssuer,
  claims: object = GITHUB,
  more: Record<string, string> = {},
): Promise<string> {
  const { status, body } = await exchange(service, await issuer.tokenFor({ ...claims }, AUDIENCE), more);
  if (status !== 200) throw new Error(`no token: ${JSON.stringify(body)}`);
  return body.access_token as string;
}
