import type { Service } from './service.js';

export interface MadeApiKey {
  readonly id: string;
  readonly key: string;
}

export const inDays = (days: number): string => new Date(Date.now() + days * 24 * 3600 * 1000).toISOString();

/** Creates an API key with these permissions. @param by credential of its creator */
export async function newApiKey(service: Service, by: string, permissions: string[], days = 1): Promise<MadeApiKey> {
  const { status, body } = await service.call('POST', '/api/settings/api-keys', {
    key: by,
    body: { name: `key for ${permissions.join(' ')}`.slice(0, 100), permissions, expiry: inDays(days) },
  });
  if (status !== 201) throw new Error(`no API key was made: ${JSON.stringify(body)}`);
  return body;
}

/** Signs a person in and returns the access token. */
export async function accessToken(service: Service, email: string, password: string): Promise<string> {
  const { status, body } = await service.call('POST', '/api/auth/login', { body: { email, password } });
  if (status !== 200) throw new Error(`no access token: ${JSON.stringify(body)}`);
  return body.access_token;
}
