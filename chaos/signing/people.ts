import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { GUARDED_KEY } from './intents.js';

/** Number of different people who must approve. */
export const THRESHOLD = 2;
const APPROVERS = 3;
const LOOK_EVERY_MS = 300;
/** Interval between authentications, which is shorter than the five minutes after which a vote requires a new authentication. */
const SHOW_EVERY_MS = 4 * 60_000;

interface World {
  readonly urls: () => string[];
  /** API key of the administrator, who makes all requests. */
  readonly apiKey: string;
  readonly administrator: { readonly email: string; readonly password: string };
}

interface Person {
  readonly id: string;
  readonly token: string;
  readonly password: string;
  /** Time of the last authentication. */
  shownAt: number;
}

interface Reply {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses can have any shape
  readonly body: any;
}

/**
 * Three people vote on requests for the guarded key, independently and at any api, and reject about a tenth of the requests. The votes of two more people must
 * be refused: the requester, and a person who is not in any group.
 */
export class People {
  /** IDs of the approvers. */
  readonly members: string[] = [];
  readonly tokens: string[] = [];
  /** Votes that should have been refused but were accepted. */
  readonly wrong: string[] = [];
  /** Number of refused votes by people who are not allowed to vote. */
  refused = 0;
  private approvers: Person[] = [];
  private others: Person[] = [];
  private working = true;
  private done: Promise<unknown> = Promise.resolve();

  constructor(private readonly world: World) {}

  /** Creates the people, their group, and the policy of the guarded key. */
  async prepare(): Promise<void> {
    for (let i = 0; i < APPROVERS; i += 1) this.approvers.push(await this.join());
    const { email, password } = this.world.administrator;
    this.others = [await this.join(), await this.enter('/api/auth/login', email, password)];
    this.members.push(...this.approvers.map(({ id }) => id));
    this.tokens.push(...[...this.approvers, ...this.others].map(({ token }) => token));
    const group = { name: 'Proof', members: this.members };
    const stages = [{ group: 'Proof', threshold: THRESHOLD }];
    await this.made('/api/v1/approver-groups', group);
    await this.made('/api/v1/approval-policies', {
      name: 'Proof',
      keys: [GUARDED_KEY],
      stages,
      rejectThreshold: THRESHOLD,
    });
  }

  work(): void {
    this.done = Promise.all([
      ...this.approvers.map((person) => this.untilStopped(person, person, (id) => this.vote(person, id))),
      ...this.others.map((person) =>
        this.untilStopped(this.approvers[0] ?? person, person, (id) => this.tryToVote(person, id)),
      ),
    ]);
  }

  async stop(): Promise<void> {
    this.working = false;
    await this.done;
  }

  private async untilStopped(
    reader: Person,
    voter: Person,
    act: (approvalId: string) => Promise<unknown>,
  ): Promise<void> {
    while (this.working) {
      await this.show(voter).catch(() => undefined);
      const list = await this.call('GET', '/api/v1/approvals?waiting=me&limit=200', reader.token).catch(
        () => undefined,
      );
      const waiting = list?.status === 200 ? (list.body.items as { id: string }[]) : [];
      // A vote that fails is repeated at the next poll with the same Idempotency-Key.
      for (const { id } of waiting) await act(id).catch(() => undefined);
      await sleep(LOOK_EVERY_MS);
    }
  }

  private vote({ id: person, token }: Person, approvalId: string): Promise<Reply> {
    const decision = isRejected(approvalId) ? 'reject' : 'approve';
    const headers = { 'idempotency-key': createHash('sha256').update(`${person} ${approvalId}`).digest('hex') };
    return this.call('POST', `/api/v1/approvals/${approvalId}/${decision}`, token, {}, headers);
  }

  private async tryToVote({ token }: Person, approvalId: string): Promise<void> {
    const { status } = await this.call('POST', `/api/v1/approvals/${approvalId}/approve`, token, {});
    if (status === 200) this.wrong.push(`a vote on ${approvalId} by somebody who may not was counted`);
    if (status === 403 || status === 404 || status === 409) this.refused += 1;
  }

  private async show(person: Person): Promise<void> {
    if (Date.now() - person.shownAt < SHOW_EVERY_MS) return;
    const { token, password } = person;
    const begun = Date.now();
    const { status } = await this.call('POST', '/api/auth/step-up', token, { password });
    if (status === 204) person.shownAt = begun;
  }

  private async join(): Promise<Person> {
    const person = await this.enter(
      '/api/auth/register',
      `${randomBytes(8).toString('hex')}@example.org`,
      `${randomUUID()}-x7`,
    );
    const { status } = await this.call('PATCH', `/api/settings/users/${person.id}`, this.world.apiKey, {
      roles: ['approver'],
    });
    if (status !== 200) throw new Error(`nobody became an approver: ${status}`);
    return person;
  }

  private async enter(path: string, email: string, password: string): Promise<Person> {
    const { body, status } = await this.call('POST', path, undefined, { email, password });
    if (status >= 300) throw new Error(`${path} answered ${status} ${JSON.stringify(body)}`);
    const token = body.access_token as string;
    const me = await this.call('GET', '/api/auth/me', token);
    return { id: me.body.id as string, token, password, shownAt: Date.now() };
  }

  private async made(path: string, body: object): Promise<void> {
    const answer = await this.call('POST', path, this.world.apiKey, body);
    if (answer.status !== 201) throw new Error(`${path} answered ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  private async call(
    method: string,
    path: string,
    token: string | undefined,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const urls = this.world.urls();
    const url = urls[Math.floor(Math.random() * urls.length)] ?? 'http://127.0.0.1:9';
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    return { status: response.status, body: await response.json().catch(() => ({})) };
  }
}

/** Reports whether the voters reject this approval. The decision depends only on the ID, so that all three people agree and the checks can compute it. */
export function isRejected(approvalId: string): boolean {
  return (createHash('sha256').update(approvalId).digest()[0] ?? 0) < 26;
}
