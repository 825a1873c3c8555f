import { join } from 'node:path';
import { ROLE_NAMES, type RoleName, type Scope, SCOPE_NAMES } from '../../src/access/scopes.js';
import { newPassword } from '../auth/people.js';
import type { Principal } from './access-table.js';
import { accessToken, newApiKey } from './access.js';
import type { Service } from './service.js';
import type { Stage } from './stage.js';

type Group = 'nobody' | 'fresh' | 'stale' | 'programs';

export interface Principals {
  readonly nobody: Principal;
  readonly people: readonly Extract<Principal, { kind: 'person' }>[];
  readonly programs: readonly Extract<Principal, { kind: 'program' }>[];
}

const SKEW = join(import.meta.dirname, '../fakes/skewed-clock.mjs');
/** Scopes available to API keys, which cannot vote. */
export const KEY_SCOPES: readonly Scope[] = SCOPE_NAMES.filter((scope) => scope !== 'approvals:approve');
/** Clock offset of the later process, which is greater than the period for which a step-up is valid. */
const LATER_MS = 10 * 60_000;

/** Starts an api process whose clock is ahead, so that every sign-in is too old for step-up. */
export function startLater(stage: Stage): Promise<Service> {
  return stage.start({ role: 'api', settings: { NODE_OPTIONS: `--import=${SKEW}`, SKEW_MS: String(LATER_MS) } });
}

/**
 * Creates two people for each role, one who calls with a fresh sign-in and one who calls the later process with an old sign-in, and an API key with each scope
 * available to keys.
 */
export async function openPrincipals(service: Service, later: Service, apiKey: string): Promise<Principals> {
  const people = await Promise.all(
    ROLE_NAMES.flatMap((role) => [
      personWith(apiKey, role, { service, isStale: false, at: service }),
      personWith(apiKey, role, { service, isStale: true, at: later }),
    ]),
  );
  const programs = [];
  for (const scope of KEY_SCOPES) {
    const { key } = await newApiKey(service, apiKey, [scope]);
    programs.push({
      kind: 'program' as const,
      service,
      name: scope,
      scopes: new Set<Scope>([scope]),
      credential: () => key,
    });
  }
  return { nobody: { kind: 'nobody', service, name: '(nobody)', credential: () => undefined }, people, programs };
}

export function principalsOf({ nobody, people, programs }: Principals, groups: readonly Group[]): Principal[] {
  return [
    ...(groups.includes('nobody') ? [nobody] : []),
    ...people.filter(({ isStale }) => groups.includes(isStale ? 'stale' : 'fresh')),
    ...(groups.includes('programs') ? programs : []),
  ];
}

interface PersonPlace {
  readonly service: Service;
  readonly isStale: boolean;
  /** Process to which the people send their calls. */
  readonly at: Service;
}

async function personWith(apiKey: string, role: RoleName, { service, isStale, at }: PersonPlace) {
  const name = isStale ? `${role}, stale` : role;
  const [email, password] = [`${role}-${isStale ? 'stale' : 'fresh'}@example.org`, newPassword()];
  const order = { key: apiKey, body: { email, roles: [role] } };
  const { link } = (await service.call('POST', '/api/settings/invitations', order)).body;
  const invitation = new URL(link).hash.replace('#invitation=', '');
  const { status, body } = await service.call('POST', '/api/auth/register', { body: { email, password, invitation } });
  if (status !== 201) throw new Error(`no person: ${status}`);
  const token = body.access_token as string;
  const credential = (isLast: boolean) => (isLast ? accessToken(service, email, password) : token);
  return { kind: 'person' as const, service: at, name, role, isStale, credential };
}
