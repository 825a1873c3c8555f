import { randomUUID } from 'node:crypto';
import { Problem } from '../../platform/errors/problem.js';
import { problemText } from '../../platform/http/server/problem.filter.js';

/** A response at the management address, or at the API address while the service waits for its schema. */
export interface ManagementAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface ManagementAnswers {
  health(): Promise<ManagementAnswer>;
  readiness(): Promise<ManagementAnswer>;
  signing(): Promise<ManagementAnswer>;
  liveness(): Promise<ManagementAnswer>;
  metrics(): Promise<ManagementAnswer>;
  /** Returns the response for every other path. */
  other(): Promise<ManagementAnswer>;
}

type Question = Exclude<keyof ManagementAnswers, 'other'>;

export const MANAGEMENT_PATHS: ReadonlyMap<string, Question> = new Map<string, Question>([
  ['/actuator/health', 'health'],
  ['/actuator/health/liveness', 'liveness'],
  ['/actuator/health/readiness', 'readiness'],
  ['/actuator/health/signing', 'signing'],
  ['/actuator/prometheus', 'metrics'],
  ['/metrics', 'metrics'],
]);

export function json(status: number, body: object): ManagementAnswer {
  return { status, type: 'application/json', text: JSON.stringify(body) };
}

/** Returns the responses of a process that is waiting for its database or its schema: alive, not ready, and the reason. */
export function waitingAnswers(reason: () => string): ManagementAnswers {
  const down = async () =>
    json(503, { status: 'DOWN', components: { db: { status: 'DOWN', details: { detail: reason() } } } });
  return {
    health: down,
    readiness: down,
    signing: down,
    liveness: async () => json(200, { status: 'UP' }),
    metrics: async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      text: '# HELP sealwright_db_write_up 1 if this process can write to the database\n# TYPE sealwright_db_write_up gauge\nsealwright_db_write_up 0\n',
    }),
    other: async () => ({
      status: 503,
      type: 'application/problem+json; charset=utf-8',
      text: problemText(
        {
          status: 503,
          title: 'Service Unavailable',
          problem: new Problem('unavailable', 'service.waiting', reason()),
        },
        randomUUID(),
      ),
    }),
  };
}
