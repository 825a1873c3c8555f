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

/** Maximum number of entries per minute for each network or caller. Well-behaved clients stay far below this limit. */
const MAX_EACH = 600;
/** Maximum number of subjects of one kind that are counted separately. */
const MAX_SUBJECTS = 1000;

/**
 * RefusalCounts limits how many entries a network or caller can add to the permanent log. Refusals beyond MAX_EACH per minute are only counted, and the total
 * is recorded.
 */
class RefusalCounts<Who> {
  private counts = new Map<string, { count: number; readonly who: Who }>();

  /** Reports whether refusals of this subject are counted separately. */
  hasRoomFor(key: string): boolean {
    return this.counts.has(key) || this.counts.size < MAX_SUBJECTS;
  }

  /** Counts a refusal. The total is recorded under the `who` of the first refusal in the minute. @returns whether the refusal gets its own entry */
  count(key: string, who: Who): boolean {
    const known = this.counts.get(key) ?? { count: 0, who };
    known.count += 1;
    this.counts.set(key, known);
    return known.count <= MAX_EACH;
  }

  /** Starts the next minute. @returns the number of refusals without an entry, by subject */
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
 * Audits refusals: every refused change, and every call without valid credentials or rights. A failed read (404, an invalid parameter of a GET) is
 * not audited, and floods are aggregated: per network for calls without a credential, and per caller otherwise.
 */
@Injectable()
export class AuditRefusals extends Refusals implements OnApplicationShutdown {
  private readonly logger = new Logger(AuditRefusals.name);
  private readonly callers = new RefusalCounts<Subject>();
  private readonly networks = new RefusalCounts<Subject>();
  /**
   * Refusals of networks beyond MAX_SUBJECTS, by the first 16 bits (IPv4) or 32 bits (IPv6) of the network. Someone who controls many networks therefore cannot
   * hide the refusals of other networks.
   */
  private readonly ranges = new RefusalCounts<Subject>();
  private readonly elsewhere = new RefusalCounts<Subject>();
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
    const who = subjectOf(request, caller);
    if (!this.count(request, caller, who)) return;
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

  /** Counts a refusal and reports whether the refusal gets its own entry. Refusals of calls without a credential do not count towards the limits of callers. */
  private count({ ip }: FastifyRequest, caller: Actor | undefined, who: Subject): boolean {
    const network = networkOf(ip);
    const places: [RefusalCounts<Subject>, string, Subject][] =
      caller === undefined
        ? [
            [this.networks, network, who],
            [this.ranges, rangeOf(network), ANYBODY],
          ]
        : [[this.callers, `${caller.kind} ${caller.id}`, who]];
    const [counts, key, subject] = places.find(([one, name]) => one.hasRoomFor(name)) ?? [this.elsewhere, '', ANYBODY];
    return counts.count(key, subject);
  }

  /** Adds one entry with the total for each network or caller that exceeded the limit, and for each range of networks. */
  @Background({ name: 'audit-refusals', scope: 'process', every: 60_000 })
  async recordSums(): Promise<void> {
    const all = [this.callers, this.networks, this.ranges, this.elsewhere];
    const sums = all.flatMap((counts) => counts.takeSums());
    const entries = sums.map(([{ actor, source }, more]): NewEntry => {
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
      this.logger.error(`unable to audit refused calls: ${String(error)}`),
    );
    await this.group.drained();
  }
}

/** The subject of an entry about refusals. */
interface Subject {
  readonly actor: Actor;
  readonly source: string;
}

const ANYBODY: Subject = { actor: ANONYMOUS, source: '' };

function subjectOf({ ip: source }: FastifyRequest, caller: Actor | undefined): Subject {
  if (caller === undefined) return { actor: ANONYMOUS, source };
  const { kind, id, name } = caller;
  return { actor: { kind, id, name }, source };
}

/** Returns the first 16 bits of an IPv4 network, or the first 32 bits of an IPv6 network, as a string. */
function rangeOf(network: string): string {
  return network
    .split(network.includes(':') ? ':' : '.')
    .slice(0, 2)
    .join('.');
}
