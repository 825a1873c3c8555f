import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { newId } from '../../platform/database/new-id.js';
import { GroupCommit } from '../../platform/database/group-commit.js';
import type { Problem } from '../../platform/errors/problem.js';
import { Refusals } from '../../platform/http/server/problem.filter.js';
import { networkOf } from '../../platform/http/origin.js';
import { RefusalCounts } from './refusal-counts.js';
import { AuditService, type NewEntry } from './audit.service.js';
import type { Actor } from '../../access/caller.js';

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '' };
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Writes down what was refused: every refused change, and every call that was turned away at the door.
 * A reader's own slip (404, a wrong parameter of a GET) is no event of its own, and a flood is told in sum: of a network without a credential,
 * and of each caller with one.
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
    if (READING.has(request.method) && !unauthenticated) return;
    const { caller } = request as { caller?: Actor };
    const { key, ...who } = refusedOf(request, caller);
    if (!this.counts.count(key, who)) return;
    await this.group.add({
      action: 'request.refused',
      outcome: 'refused',
      actor: who.actor,
      target: { kind: 'operation', id: `${request.method} ${request.routeOptions.url ?? 'none'}` },
      correlation: request.id,
      source: request.ip,
      detail: {
        code: problem.code,
        scope: problem.scope,
        pointers: problem.errors?.slice(0, 5).map(({ pointer }) => pointer),
      },
    });
  }

  /** One entry for each network or caller that was refused too often for an entry each. */
  @Interval(60_000)
  async recordRest(): Promise<void> {
    const entries = this.counts.turn().map(([{ actor, source }, more]): NewEntry => {
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
    await Promise.all(entries.map((entry) => this.group.add(entry))).catch((error: unknown) =>
      this.logger.error(`refused calls were not written down: ${String(error)}`),
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.recordRest();
    await this.group.drained();
  }
}

interface Refused {
  /** What is counted together. */
  readonly key: string;
  readonly actor: Actor;
  readonly source: string;
}

function refusedOf({ ip }: FastifyRequest, caller: Actor | undefined): Refused {
  if (caller === undefined) return { key: `network ${networkOf(ip)}`, actor: ANONYMOUS, source: ip };
  const { kind, id, name } = caller;
  return { key: `${kind} ${id}`, actor: { kind, id, name }, source: ip };
}
