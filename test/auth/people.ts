import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { freePort } from '../../scripts/lib/ports.mjs';
import type { Answer, Service } from '../support/service.js';
import type { Stage } from '../support/stage.js';

export interface Person {
  readonly email: string;
  readonly password: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Returns settings with a fixed port and a matching public URL, so that the service knows its own address. */
export async function atKnownAddress(): Promise<Record<string, string>> {
  const port = await freePort();
  return { SVC_PORT: String(port), SVC_PUBLIC_URL: `http://127.0.0.1:${port}` };
}

/** Settings that allow the service to call the tests' identity providers, which run on this machine. */
export const PEERS_HERE = { SVC_OUTBOUND_ALLOW: '127.0.0.0/8,::1/128' };

export function newPassword(): string {
  return `${randomBytes(12).toString('base64url')}-x7`;
}

/** Attempts to register, because a busy machine answers 503 while its database connections are in use. */
const REGISTRATION_ATTEMPTS = 5;

/** Registers a new person who has the role `viewer`. */
export async function register(service: Service, name = 'person'): Promise<Person> {
  for (let attempt = 1; ; attempt += 1) {
    // A new address each time, because the outcome of an attempt that was answered 503 is unknown.
    const email = `${name}-${randomBytes(4).toString('hex')}@example.org`;
    const password = newPassword();
    const { status, body } = await service.call('POST', '/api/auth/register', { body: { email, password } });
    if (status === 201) return { email, password, accessToken: body.access_token, refreshToken: body.refresh_token };
    if (status !== 503 || attempt === REGISTRATION_ATTEMPTS) throw new Error(`not registered: ${JSON.stringify(body)}`);
    await sleep(1000);
  }
}

export function login(service: Service, email: string, password: string): Promise<Answer> {
  return service.call('POST', '/api/auth/login', { body: { email, password } });
}

export function me(service: Service, token: string): Promise<Answer> {
  return service.call('GET', '/api/auth/me', { key: token });
}

export async function idOf(stage: Stage, email: string): Promise<string> {
  const [row] = await stage.sql<{ id: string }>(`SELECT id FROM user_account WHERE email = $1`, [email]);
  if (row === undefined) throw new Error(`there is no ${email}`);
  return row.id;
}
