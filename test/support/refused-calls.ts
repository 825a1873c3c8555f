import { expect } from 'vitest';
import type { Answer, CallOptions, Service } from './service.js';
import type { Stage } from './stage.js';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** RFC 6901 pointer to one of the faults, or the name of the parameter. */
  readonly pointer?: string;
}

/** Sends calls that must be refused without leaving anything behind but an audit entry. */
export class RefusedCalls {
  constructor(
    private readonly stage: Stage,
    private readonly service: Service,
    private readonly apiKey: string,
  ) {}

  /** Asserts that a POST with a valid credential (or the credential in `options`) is refused as expected, is audited, and stores nothing. */
  async post(refusal: Refusal, path: string, options: CallOptions): Promise<Answer> {
    const answer = await this.withoutTrace(refusal, 'POST', path, options);
    await this.assertWrittenDown(answer, refusal.code);
    return answer;
  }

  /** Asserts that a GET is refused as expected and stores nothing. */
  get(refusal: Refusal, path: string, options: CallOptions = {}): Promise<Answer> {
    return this.withoutTrace(refusal, 'GET', path, options);
  }

  /** Asserts that the audit log contains the refusal's code exactly once. */
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

  /** Returns the number of rows that a call could leave behind, excluding audit entries of refusals. */
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

/** Asserts that the response is an RFC 9457 problem with the members that all of the service's problems have. */
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
