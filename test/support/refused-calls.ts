import { expect } from 'vitest';
import type { Answer, CallOptions, Service } from './service.js';
import type { Stage } from './stage.js';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** RFC 6901 pointer of one of the faults, or the name of the parameter. */
  readonly pointer?: string;
}

/** Makes calls that must be refused without leaving anything behind but the note that they were. */
export class RefusedCalls {
  constructor(
    private readonly stage: Stage,
    private readonly service: Service,
    private readonly apiKey: string,
  ) {}

  /** A POST with a good credential, unless `options` say otherwise: refused as told, written down, and nothing stored. */
  async post(refusal: Refusal, path: string, options: CallOptions): Promise<Answer> {
    const answer = await this.withoutTrace(refusal, 'POST', path, options);
    await this.assertWrittenDown(answer, refusal.code);
    return answer;
  }

  /** A GET: refused as told, and nothing stored. */
  get(refusal: Refusal, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.withoutTrace(refusal, 'GET', path, options);
  }

  /** The audit log names the code of the refusal, once. */
  async assertWrittenDown(answer: Answer, code: string): Promise<void> {
    const entries = await this.stage.sql(
      `SELECT outcome, detail ->> 'code' AS code FROM audit_entry WHERE action = 'request.refused' AND correlation = $1`,
      [answer.body.requestId],
    );
    assertOneRefusal(entries, code);
  }

  private async withoutTrace(refusal: Refusal, method: string, path: string, options: CallOptions): Promise<Answer> {
    const before = await this.stored();
    const answer = await this.service.call(method, path, { key: this.apiKey, ...options });
    assertProblem(answer, refusal);
    assertUnchanged(before, await this.stored());
    return answer;
  }

  /** Everything that a call could leave behind, apart from the note that it was refused. */
  private async stored(): Promise<unknown> {
    const tables = ['signing_request', 'outbox_message', 'idempotency_key', 'signing_key', 'api_key', 'user_account'];
    const counts = tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`).join(', ');
    const entries = `(SELECT count(*) FROM audit_entry WHERE action <> 'request.refused') AS entries`;
    const [row] = await this.stage.sql<Record<string, unknown>>(`SELECT ${counts}, ${entries}`);
    return row;
  }
}

function assertUnchanged(before: unknown, after: unknown): void {
  expect(after).toEqual(before);
}

function assertOneRefusal(entries: unknown[], code: string): void {
  expect(entries).toEqual([{ outcome: 'refused', code }]);
}

/** RFC 9457, with the members that every problem of the service has. */
export function assertProblem(answer: Answer, { status, code, pointer }: Refusal): void {
  expect({ ...answer.body }).toMatchObject({
    type: `urn:sealwright:problem:${code}`,
    status,
    code,
    title: expect.stringMatching(/\w/),
    detail: expect.stringMatching(/\w.*\.$/),
    requestId: answer.headers.get('x-request-id'),
    ...(pointer === undefined ? {} : { errors: expect.arrayContaining([expect.objectContaining({ pointer })]) }),
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
}
