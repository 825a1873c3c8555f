import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Actor } from '../../access/caller.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { PublicJwk } from '../../formats/jose/json-web-key.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Origin } from '../../platform/http/origin.js';
import { OutboundClient } from '../../platform/outbound/outbound-client.js';
import { discoverKeys } from './issuer-discovery.js';
import { thumbprintsOf } from './issuer-key-set.js';
import { WorkloadIssuer } from './workload.entity.js';

/** Keys are read again after this time. */
const FRESH_MS = 10 * 60_000;
/** An issuer is not asked more often, whatever tokens are presented. */
const PAUSE_MS = 30_000;
/** So long keys are believed whose issuer does not answer. */
const MAX_STALE_MS = 60 * 60_000;
const TIMEOUT_MS = 5000;

const ISSUERS_ACTOR: Actor = { kind: 'system', id: 'workload-issuers', name: 'workload issuers' };

/** The keys of issuers: kept in the database, read again when they are old or none of them fits, every change in the audit log. */
@Injectable()
export class IssuerKeys {
  private readonly logger = new Logger(IssuerKeys.name);
  private readonly readings = new Map<string, Promise<PublicJwk[]>>();

  constructor(
    private readonly db: DataSource,
    private readonly config: Config,
    private readonly outbound: OutboundClient,
    private readonly audit: AuditService,
  ) {}

  /**
   * The keys of an issuer.
   *
   * @param fresh none of the known keys fits: ask again, if the issuer was not asked just now
   * @throws Problem `workload.issuer-away` when there are none that can be believed
   */
  async of(issuer: WorkloadIssuer, origin: Origin, fresh: boolean): Promise<readonly PublicJwk[]> {
    const { keySource, keys, keysReadAt, keysAskedAt } = issuer;
    if (keySource === 'uploaded') return keys ?? [];
    const isKnown = keys !== null && ageOf(keysReadAt) < FRESH_MS;
    const isDue = ageOf(keysAskedAt) > PAUSE_MS && (fresh || !isKnown);
    if (isDue) return this.renewed(issuer, origin);
    return this.believable(issuer);
  }

  /** Reads the keys now. Rejects with the reason if the issuer cannot be used. */
  async read({ issuer }: Pick<WorkloadIssuer, 'issuer'>): Promise<PublicJwk[]> {
    const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
    const isPlain = [url?.search, url?.hash, url?.username, url?.password].every((part) => part === '');
    if (!isPlain) throw new Error('it is no address without query, fragment and user');
    return discoverKeys(issuer, (at) => this.document(at));
  }

  private believable({ keys, keysReadAt, name }: WorkloadIssuer): readonly PublicJwk[] {
    if (keys !== null && ageOf(keysReadAt) < MAX_STALE_MS) return keys;
    const detail = `The issuer ${name} does not publish keys that can be used.`;
    throw new Problem('unavailable', 'workload.issuer-away', detail, { retryAfter: PAUSE_MS / 1000 });
  }

  /** Calls that come at the same time share one reading. */
  private async renewed(issuer: WorkloadIssuer, origin: Origin): Promise<readonly PublicJwk[]> {
    const { id, name } = issuer;
    const reading = this.readings.get(id) ?? this.readAndKeep(issuer, origin);
    this.readings.set(id, reading);
    try {
      const keys = await reading;
      // Whoever holds the row asks no second time for the same token.
      return Object.assign(issuer, { keys, keysReadAt: new Date() }).keys;
    } catch (error) {
      this.logger.warn(`the keys of the issuer ${name} cannot be read: ${reasonOf(error)}`);
      return this.believable(issuer);
    } finally {
      issuer.keysAskedAt = new Date();
      this.readings.delete(id);
    }
  }

  private async readAndKeep(issuer: WorkloadIssuer, origin: Origin): Promise<PublicJwk[]> {
    await this.db.manager.update(WorkloadIssuer, { id: issuer.id }, { keysAskedAt: () => 'now()' });
    const keys = await this.read(issuer);
    await this.db.transaction(async (tx) => {
      const lock = { mode: 'pessimistic_write' } as const;
      const before = await tx.findOne(WorkloadIssuer, { where: { id: issuer.id }, lock });
      if (before === null) return;
      await tx.update(WorkloadIssuer, { id: issuer.id }, { keys, keysReadAt: () => 'now()' });
      const detail = keyChange(before.keys ?? [], keys);
      if (detail === undefined) return;
      const target = { kind: 'workload-issuer', id: issuer.id };
      const entry = { action: 'workload-issuer.keys-changed', target, detail: { issuer: issuer.issuer, ...detail } };
      await this.audit.appendBy(tx, { ...ISSUERS_ACTOR, origin }, entry);
    });
    return keys;
  }

  private async document(url: string): Promise<{ status: number; body: string }> {
    if (this.config.isProd && !url.startsWith('https:')) throw new Error(`${url} is not https`);
    const headers = { accept: 'application/json' };
    return this.outbound.send({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS });
  }
}

/** Thumbprints that came and went; undefined when the keys are the same. */
export function keyChange(
  before: readonly PublicJwk[],
  after: readonly PublicJwk[],
): { added: string[]; removed: string[] } | undefined {
  const [old, now] = [thumbprintsOf(before), thumbprintsOf(after)];
  const added = now.filter((one) => !old.includes(one));
  const removed = old.filter((one) => !now.includes(one));
  return added.length + removed.length === 0 ? undefined : { added, removed };
}

function ageOf(since: Date | null): number {
  return since === null ? Infinity : Date.now() - since.getTime();
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
