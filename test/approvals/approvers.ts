import { randomBytes } from 'node:crypto';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';
import { idOf, type Person, register } from '../auth/people.js';

export interface Approver extends Person {
  readonly id: string;
}

/** Environment for approval tests. */
export interface ApprovalFixture {
  readonly stage: Stage;
  readonly service: Service;
  /** API key with admin:*. */
  readonly apiKey: string;
}

/** Starts a service with new stores. */
export async function openApprovalFixture(): Promise<ApprovalFixture> {
  const stage = await openStage();
  const { apiKey } = await stage.seed();
  return { stage, apiKey, service: await stage.start() };
}

/** Creates a person who can vote after being added to a group. */
export async function newApprover(
  { stage, service, apiKey }: ApprovalFixture,
  roles = ['approver'],
): Promise<Approver> {
  const person = await register(service, 'approver');
  const id = await idOf(stage, person.email);
  const { status, body } = await service.call('PATCH', `/api/settings/users/${id}`, { key: apiKey, body: { roles } });
  if (status !== 200) throw new Error(JSON.stringify(body));
  return { ...person, id };
}

/** Creates several approvers, keyed by the given names. */
export async function newTeam<Name extends string>(
  place: ApprovalFixture,
  ...names: Name[]
): Promise<Record<Name, Approver>> {
  const people = await newApprovers(place, names.length);
  return Object.fromEntries(names.map((name, i) => [name, people[i]])) as Record<Name, Approver>;
}

export function newApprovers(place: ApprovalFixture, count: number): Promise<Approver[]> {
  return Promise.all(Array.from({ length: count }, () => newApprover(place)));
}

async function made(answer: Promise<Answer>): Promise<Answer> {
  const { status, body } = await answer;
  if (status !== 201) throw new Error(`not made: ${JSON.stringify(body)}`);
  return answer;
}

export function unique(name: string): string {
  return `${name}-${randomBytes(4).toString('hex')}`;
}

export async function newGroup(
  { service, apiKey }: Pick<ApprovalFixture, 'service' | 'apiKey'>,
  members: readonly Pick<Approver, 'id'>[],
): Promise<Answer> {
  const body = { name: unique('group'), members: members.map(({ id }) => id) };
  return made(service.call('POST', '/api/v1/approver-groups', { key: apiKey, body }));
}

export interface Guard {
  readonly members: readonly Pick<Approver, 'id'>[];
  readonly threshold: number;
}

/** Creates a key whose signatures require approval in these stages. */
export async function newGuardedKey(
  place: ApprovalFixture,
  stages: readonly Guard[],
  rules: Record<string, unknown> = {},
  type = 'ec-p256',
): Promise<{ key: PublishedKey; groups: Answer[]; policy: Answer }> {
  const { service, apiKey } = place;
  const key = await createKey(service, apiKey, { name: unique('guarded'), type });
  const groups: Answer[] = [];
  for (const { members } of stages) groups.push(await newGroup(place, members));
  const body = {
    name: unique('policy'),
    keys: [key.name],
    stages: stages.map(({ threshold }, i) => ({ group: groups[i]?.body.id as string, threshold })),
    ...rules,
  };
  const policy = await made(service.call('POST', '/api/v1/approval-policies', { key: apiKey, body }));
  return { key, groups, policy };
}

export interface Vote {
  readonly decision?: 'approve' | 'reject';
  readonly body?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

/** Votes with a person's access token; approves by default. */
export function vote(
  service: Service,
  approvalId: string,
  { accessToken }: Pick<Person, 'accessToken'>,
  { decision = 'approve', ...options }: Vote = {},
): Promise<Answer> {
  return service.call('POST', `/api/v1/approvals/${approvalId}/${decision}`, { key: accessToken, ...options });
}

/** Requests a signature that requires approval and returns the IDs. */
export async function held(
  { service, apiKey }: ApprovalFixture,
  body: Record<string, unknown>,
  key = apiKey,
): Promise<{ requestId: string; approvalId: string }> {
  const answer = await service.call('POST', '/api/v1/sign/digest', { key, body });
  if (answer.status !== 202 || answer.body.status !== 'PENDING_APPROVAL')
    throw new Error(`not held: ${JSON.stringify(answer.body)}`);
  return { requestId: answer.body.requestId as string, approvalId: answer.body.approvalId as string };
}

/** Requests a signature that requires one vote by these people. */
export async function heldFor(place: ApprovalFixture, members: readonly Pick<Approver, 'id'>[]) {
  const { key, groups } = await newGuardedKey(place, [{ members, threshold: 1 }]);
  const request = await held(place, { digest: digestOf(unique('held')), key: key.name });
  return { ...request, group: groups[0]?.body as { id: string; name: string; version: number } };
}

export function approval({ service, apiKey }: ApprovalFixture, id: string): Promise<Answer> {
  return service.call('GET', `/api/v1/approvals/${id}`, { key: apiKey });
}
