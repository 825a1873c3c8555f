import { expect } from 'vitest';
import type { Answer, Service } from '../support/service.js';

export interface Client {
  readonly client_id: string;
  readonly client_secret: string;
}

export type Parameters = Record<string, string> | string;

export async function makeClient(
  service: Service,
  apiKey: string,
  permissions: string[],
  type = 'confidential',
): Promise<Client> {
  const body = { name: `client for ${permissions.join(' ')}`, permissions, type };
  const answer = await service.call('POST', '/api/settings/oauth-clients', { key: apiKey, body });
  if (answer.status !== 201) throw new Error(`no OAuth client was made: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export function postForm(
  service: Service,
  path: string,
  parameters: Parameters,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const content = { 'content-type': 'application/x-www-form-urlencoded' };
  return service.call('POST', path, {
    body: new URLSearchParams(parameters).toString(),
    headers: { ...content, ...headers },
  });
}

/** Builds a token request with a device code (RFC 8628 section 3.4). */
export const deviceGrant = (client: Client, code: string) => ({
  grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
  client_id: client.client_id,
  device_code: code,
});

/** Asserts an error response as specified in RFC 6749 section 5.2. */
export function assertOAuthError(answer: Answer, status: number, error: string): void {
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error });
  expect(Object.keys(answer.body).toSorted()).toEqual(['error', 'error_description']);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}
