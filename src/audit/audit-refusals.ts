import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DataSource } from 'typeorm';
import { GroupCommit } from '../platform/database/group-commit.js';
import type { Problem } from '../platform/http/problem.js';
import { Refusals } from '../platform/http/refusals.js';
import { type Actor, AuditService, type NewEntry } from './audit.service.js';

const ANONYMOUS: Actor = { kind: 'anonymous', id: '', name: '' };
const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Writes down what was refused: every refused change, and every call that was turned away at the door.
 * A reader's own slip (404, a wrong parameter of a GET) is no event of its own.
 */
@Injectable()
export class AuditRefusals extends Refusals implements OnApplicationShutdown {
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
    await this.group.add({
      action: 'request.refused',
      outcome: 'refused',
      actor: (request as { caller?: Actor }).caller ?? ANONYMOUS,
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

  async onApplicationShutdown(): Promise<void> {
    await this.group.drained();
  }
}
