import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { newId } from '../platform/database/new-id.js';
import { GroupCommit } from '../platform/database/group-commit.js';
import type { Problem } from '../platform/http/problem.js';
import { Refusals } from '../platform/http/refusals.js';
import { AnonymousRefusals } from './anonymous-refusals.js';
import { type Actor, AuditService, type NewEntry } from './audit.service.js';

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '' };
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Writes down what was refused: every refused change, and every call that was turned away at the door.
 * A reader's own slip (404, a wrong parameter of a GET) is no event of its own, and a flood of calls without a credential is told in sum.
 */
@Injectable()
export class AuditRefusals extends Refusals implements OnApplicationShutdown {
  private readonly logger = new Logger(AuditRefusals.name);
  private readonly anonymous = new AnonymousRefusals();
  private readonly group: GroupCommit<NewEntry, undefined>;

  constructor(db: DataSource, audit: AuditService) {
    super();
    this.group = new GroupCommit(db, async (tx, entries) => {
      await audit.append(tx, entries);
      return entries.map(() => undefined);
    });
  }

  async record(request: FastifyRequest, problem: Problem): Promise<void> {
    const atTheDoor = problem.kind === 'unauthenticated' || problem.kind === 'forbidden';
    if (READING.has(request.method) && !atTheDoor) return;
    const { caller } = request as { caller?: Actor };
    if (caller === undefined && !this.anonymous.count(request.ip)) return;
    await this.group.add({
      action: 'request.refused',
      outcome: 'refused',
      actor: caller ?? ANONYMOUS,
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

  /** One entry for each address that was refused too often for an entry each. */
  @Interval(60_000)
  async tellOfMore(): Promise<void> {
    const entries = this.anonymous.turn().map(([source, more]): NewEntry => {
      const target = { kind: 'operation', id: '*' };
      const detail = { more };
      return {
        action: 'request.refused',
        outcome: 'refused',
        actor: ANONYMOUS,
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
    await this.tellOfMore();
    await this.group.drained();
  }
}
