import { GITHUB } from '../fakes/workload-claims.js';
import type { WorkloadIssuer } from '../fakes/workload-issuer.js';
import type { Answer, Service } from '../support/service.js';
import { unique } from '../approvals/approvers.js';
import { postForm } from './oauth-calls.js';

export const AUDIENCE = 'https://sign.example.com';
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** What a test of workloads works with: `key` is an API key with admin:*. */
export interface WorkloadPlace {
  readonly service: Service;
  readonly key: string;
}

export const RELEASES = [
  { claim: 'repository', values: ['octo-org/octo-repo'] },
  { claim: 'ref', values: ['refs/tags/v*'] },
  { claim: 'job_workflow_ref', values: ['octo-org/octo-repo/.github/workflows/release.yml@refs/tags/v*'] },
];

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

/** An access token for a run with these claims. */
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
