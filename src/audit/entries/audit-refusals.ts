import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import type { Problem } from '../../platform/errors/problem.js';
import { Refusals } from '../../platform/http/server/problem.filter.js';
import { networkOf } from '../../platform/http/origin.js';
import { Background } from '../../platform/work/background.js';
import { AuditService, type NewEntry } from './audit.service.js';
import type { Actor } from '../../access/caller.js';

/** Maximum entries per network or caller and minute; well-behaved clients stay far below. */
const MAX_EACH = 600;
/** Networks and callers that are counted separately; all others share one count. */
const MAX_SUBJECTS = 1000;
const OTHER_SUBJECTS = 'elsewhere';

/**
 * Bounds what one network or caller can write into the permanent log: beyond some hundred in a minute, refusals are only counted,
 * and recorded as a number.
 */
class RefusalCounts<Who> {
  private counts = new Map<string, { count: number; readonly who: Who }>();

  /** Counts a refusal. @returns whether it gets its own entry. `who`: the subject of the sum, from the first refusal of the minute. */
  count(key: string, who: Who): boolean {
    const place = this.counts.has(key) || this.counts.size < MAX_SUBJECTS ? key : OTHER_SUBJECTS;
    const known = this.counts.get(place) ?? { count: 0, who };
    known.count += 1;
    this.counts.set(place, known);
    return known.count <= MAX_EACH;
  }

  /** Begins the next minute. @returns the number of refusals without an entry, by subject */
  takeSums(): [who: Who, more: number][] {
    const counts = [...this.counts.values()];
    this.counts = new Map();
    return counts.flatMap(({ who, count }): [Who, number][] => (count > MAX_EACH ? [[who, count - MAX_EACH]] : []));
  }
}

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '' };
const PLAIN = { action: 'request.refused', detail: {} };
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Audits refusals: every refused change, and every call without valid credentials or rights.
 * A failed read (404, a wrong parameter of a GET) is not audited, and floods are summed up: per network for calls without a credential,
 * and per caller otherwise.
 */
@Injectable()
export class AuditRefusals extends Refusals implements OnApplicationShutdown {
  private readonly logger = new Logger(AuditRefusals.name);
  private readonly counts = new RefusalCounts<Omit<Refused, 'key'>>();
  private readonly group: GroupCommit<NewEntry, undefined>;

  constructor(db: DataSource, audit: AuditService) {
    super();
    this.group = new GroupCommit(db, async (tx, entries) => {
      await audit.append(tx, entries);
      return entries.map(() => undefined);
    });
  }

  async record(request: FastifyRequest, problem: Problem): Promise<void> {
    const unauthenticated = problem.kind === 'unauthenticated' || problem.kind === 'forbidden';
    if (READING.has(request.method) && !unauthenticated && problem.audit === undefined) return;
    const { caller } = request as { caller?: Actor };
    const { key, ...who } = refusedOf(request, caller);
    if (!this.counts.count(key, who)) return;
    const operation = `${request.method} ${request.routeOptions.url ?? 'none'}`;
    const {
      action,
      target,
      detail: more,
    } = problem.audit ?? { ...PLAIN, target: { kind: 'operation', id: operation } };
    await this.group.add({
      action,
      outcome: 'refused',
      actor: who.actor,
      target,
      correlation: request.id,
      source: request.ip,
      detail: {
        code: problem.code,
        scope: problem.scope,
        pointers: problem.errors?.slice(0, 5).map(({ pointer }) => pointer),
        ...(problem.audit !== undefined && { operation, ...more }),
      },
    });
  }

  /** Adds one entry with the sum for each network or caller that exceeded the limit. */
  @Background({ name: 'audit-refusals', scope: 'process', every: 60_000 })
  async recordSums(): Promise<void> {
    const entries = this.counts.takeSums().map(([{ actor, source }, more]): NewEntry => {
      const target = { kind: 'operation', id: '*' };
      const detail = { more };
      return {
        action: 'request.refused',
        outcome: 'refused',
        actor,
        target,
        correlation: newId(),
        source,
        detail,
      };
    });
    await Promise.all(entries.map((entry) => this.group.add(entry)));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recordSums().catch((error: unknown) =>
      this.logger.error(`refused calls were not audited: ${String(error)}`),
    );
    await this.group.drained();
  }
}

interface Refused {
  /** Refusals with the same key are counted together. */
  readonly key: string;
  readonly actor: Actor;
  readonly source: string;
}

function refusedOf({ ip }: FastifyRequest, caller: Actor | undefined): Refused {
  if (caller === undefined) return { key: `network ${networkOf(ip)}`, actor: ANONYMOUS, source: ip };
  const { kind, id, name } = caller;
  return { key: `${kind} ${id}`, actor: { kind, id, name }, source: ip };
}
