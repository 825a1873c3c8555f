import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Actor, Caller } from '../../access/caller.js';
import { scopesBeyond, type Scope } from '../../access/scopes.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { PublicJwk } from '../../formats/encoding/json-web-key.js';
import { Problem } from '../../platform/errors/problem.js';
import type { Origin } from '../../platform/http/origin.js';
import { type DocumentReader, jsonAt, KeyDocuments } from '../credentials/key-sets/key-documents.js';
import { KeyRenewals, PAUSE_SECONDS, storeKeys } from '../credentials/key-sets/key-renewals.js';
import { readKeySet } from '../credentials/key-sets/key-set.js';
import { recordDisclosure } from '../rights/secret-disclosures.js';
import { SessionsService } from '../credentials/sessions/sessions.service.js';
import { WorkloadIssuer, WorkloadTrust } from '../model/workload.entity.js';

const ISSUERS_ACTOR: Actor = { kind: 'system', id: 'workload-issuers', name: 'workload issuers' };

/** IssuerKeys manages the keys of issuers. Keys are stored in the database, and refetched if they are old or no key matches. Every change is audited. */
@Injectable()
export class IssuerKeys {
  private readonly renewals = new KeyRenewals('the issuer');

  constructor(
    private readonly db: DataSource,
    private readonly documents: KeyDocuments,
    private readonly sessions: SessionsService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Returns the keys of an issuer.
   *
   * @param fresh true if no known key matches: the keys are refetched, unless the issuer was called recently
   * @throws Problem `workload.issuer-away` if no trusted keys are available
   */
  async of(issuer: WorkloadIssuer, origin: Origin, fresh: boolean): Promise<readonly PublicJwk[]> {
    if (issuer.keySource === 'uploaded') return issuer.keys ?? [];
    const keys = await this.renewals.of(issuer, fresh, () => this.readAndKeep(issuer, origin));
    if (keys !== undefined) return keys;
    const detail = `No usable keys are available from the issuer "${issuer.name}". Retry after ${PAUSE_SECONDS} seconds.`;
    throw new Problem('unavailable', 'workload.issuer-away', detail, { retryAfter: PAUSE_SECONDS });
  }

  /** Fetches the keys now. Rejects with the reason if the issuer cannot be used. */
  async read({ issuer }: Pick<WorkloadIssuer, 'issuer'>): Promise<PublicJwk[]> {
    const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
    const isPlain = [url?.search, url?.hash, url?.username, url?.password].every((part) => part === '');
    if (!isPlain) throw new Error('must be a URL without a query, fragment or user');
    return discoverKeys(issuer, (at) => this.documents.read(at));
  }

  /**
   * Records who uploads keys of an issuer, in the transaction that stores the keys. A person with the private keys can impersonate any run of the issuer. The
   * caller must therefore have the permissions that the issuer's trusts grant, and counts as a requester of all requests made by its runs. The row of the
   * issuer must be locked, so that no trust is created in the meantime.
   *
   * @throws Problem `workload-issuer.beyond-caller`
   */
  async recordUpload(tx: EntityManager, caller: Caller, id: string): Promise<void> {
    const trusts = await tx.find(WorkloadTrust, { select: { scopes: true }, where: { issuerId: id } });
    assertHeld(caller, new Set(trusts.flatMap(({ scopes }) => scopes)));
    await recordDisclosure(tx, caller, { kind: 'workload-issuer', id, occasion: 'keys-uploaded' });
  }

  /** Ends the sessions of all runs of an issuer, in the transaction that disables or deletes the issuer. */
  endRuns(tx: EntityManager, caller: Caller, id: string): Promise<void> {
    return this.sessions.endIssuerIn(tx, caller, id);
  }

  private async readAndKeep(issuer: WorkloadIssuer, origin: Origin): Promise<PublicJwk[]> {
    await this.db.manager.update(WorkloadIssuer, { id: issuer.id }, { keysAskedAt: () => 'now()' });
    const keys = await this.read(issuer);
    await this.db.transaction(async (tx) => {
      const detail = await storeKeys(tx, WorkloadIssuer, { id: issuer.id }, keys);
      if (detail === undefined) return;
      const target = { kind: 'workload-issuer', id: issuer.id };
      const entry = { action: 'workload-issuer.keys-changed', target, detail: { issuer: issuer.issuer, ...detail } };
      await this.audit.appendBy(tx, { ...ISSUERS_ACTOR, origin }, entry);
    });
    return keys;
  }
}

/**
 * Fetches the keys of an issuer through its discovery document (OpenID Connect Discovery section 4). Build systems and clusters have no authorization
 * endpoint, so only `issuer` and `jwks_uri` are used.
 *
 * @throws Error with the reason if a document cannot be read, belongs to another issuer, or has no usable keys.
 */
export async function discoverKeys(issuer: string, read: DocumentReader): Promise<PublicJwk[]> {
  const base = issuer.endsWith('/') ? issuer.slice(0, -1) : issuer;
  const metadata = await jsonAt(`${base}/.well-known/openid-configuration`, read);
  const { issuer: named, jwks_uri: keysAt } = (metadata ?? {}) as { issuer?: unknown; jwks_uri?: unknown };
  if (named !== issuer) throw new Error('the discovery document belongs to another issuer');
  if (typeof keysAt !== 'string') throw new Error('the discovery document has no jwks_uri');
  return readKeySet(await jsonAt(keysAt, read));
}

function assertHeld(caller: Caller, given: ReadonlySet<Scope>): void {
  const beyond = scopesBeyond(caller.scopes, given);
  if (beyond.length === 0) return;
  const detail = `You cannot upload keys for this issuer, because its trusts grant permissions that you do not have: ${beyond.join(', ')}.`;
  throw new Problem('forbidden', 'workload-issuer.beyond-caller', detail);
}
