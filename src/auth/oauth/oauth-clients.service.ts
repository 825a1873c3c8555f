import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import { isId, newId } from '../../platform/database/new-id.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import type { Caller } from '../../access/caller.js';
import { effectiveRights, type OwnedRow, ownedColumns, peopleOf } from '../rights/effective-rights.js';
import { SecretDisclosures } from '../rights/secret-disclosures.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { newSecret } from '../secrets/secret-text.js';
import { OAuthClient } from './oauth-client.entity.js';

export type OAuthClientType = 'confidential' | 'public';

export interface OAuthClientOrder {
  readonly name: string;
  readonly permissions: readonly Scope[];
  readonly type: OAuthClientType;
}

/** A client that can be used, with what it may do now. */
export interface ActiveClient extends Pick<OAuthClient, 'id' | 'name' | 'secretHash'> {
  /** Its permissions, as far as the people behind it may do that. */
  readonly permissions: readonly Scope[];
}

/** Programs that get tokens. Their secret is shown once. */
@Injectable()
export class OAuthClientsService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly disclosures: SecretDisclosures,
  ) {}

  /** Creates a client; a confidential one with a secret, which is seen in this answer alone. */
  async create(
    caller: Caller,
    order: OAuthClientOrder,
    use?: IdempotentUse,
  ): Promise<{ row: OAuthClient; secret?: string }> {
    assertHeld(caller, order.permissions);
    const secret = order.type === 'confidential' ? newSecret('client') : undefined;
    const row = await this.db.transaction(async (tx) => {
      const id = use?.resource ?? newId();
      const { name, permissions } = order;
      if (secret !== undefined) await this.idempotency.assertFirst(tx, use, () => '/api/settings/oauth-clients');
      const earlier = secret === undefined ? await this.idempotency.earlier(tx, use) : undefined;
      if (earlier !== undefined) return tx.findOneByOrFail(OAuthClient, { id: earlier });
      const secretHash = secret?.hash ?? null;
      await tx.insert(OAuthClient, { id, name, permissions: [...permissions], secretHash, ownerId: caller.ownerId });
      if (secret !== undefined) {
        await this.disclosures.record(tx, caller, { kind: 'oauth-client', id, occasion: 'created' });
      }
      await this.record(tx, caller, 'oauth-client.created', { id, name, permissions });
      return tx.findOneByOrFail(OAuthClient, { id });
    });
    return { row, ...(secret === undefined ? {} : { secret: secret.text }) };
  }

  async list(query: PageQuery): Promise<Page<OAuthClient>> {
    return this.cursors.newest('oauth-clients', this.db.createQueryBuilder(OAuthClient, 'client'), query);
  }

  /**
   * Gives a confidential client another secret; the old one is of no use from now on. When somebody else than the owner gets it, the client
   * does no more than they may do either, and they count as asking for whatever it asks for.
   */
  async replaceSecret(caller: Caller, id: string): Promise<{ row: OAuthClient; secret: string }> {
    const secret = newSecret('client');
    const row = await this.read(id);
    assertHeld(caller, row.permissions);
    if (row.revokedAt !== null || row.secretHash === null) {
      throw new Problem('conflict', 'oauth-client.no-secret', 'A public or revoked client has no secret.');
    }
    await this.db.transaction(async (tx) => {
      const issuedTo = caller.ownerId === row.ownerId ? null : caller.ownerId;
      const change = { secretHash: secret.hash, issuedTo };
      const { affected } = await tx.update(OAuthClient, { id, revokedAt: IsNull() }, change);
      if (affected !== 1) throw missing();
      await this.disclosures.record(tx, caller, { kind: 'oauth-client', id, occasion: 'secret-replaced' });
      await this.record(tx, caller, 'oauth-client.secret-replaced', row);
    });
    return { row, secret: secret.text };
  }

  /** Ends a client. Its tokens are refused everywhere within five seconds; repeating the call changes nothing. */
  async revoke(caller: Caller, id: string): Promise<void> {
    const row = await this.read(id);
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.update(OAuthClient, { id, revokedAt: IsNull() }, { revokedAt: () => 'now()' });
      if (affected === 1) await this.record(tx, caller, 'oauth-client.revoked', row);
    });
  }

  /** The client with this client_id, unless it was revoked or somebody behind it is gone. Any text may be asked for. */
  async findActive(clientId: string): Promise<ActiveClient | null> {
    if (!isId(clientId)) return null;
    const [row]: ClientRow[] = await this.db.query(
      `SELECT c.id, c.name, c.permissions, c.secret_hash, ${ownedColumns('c')} FROM oauth_client c
       WHERE c.id = $1 AND c.revoked_at IS NULL`,
      [clientId],
    );
    const rights = row && effectiveRights({ people: peopleOf(row), limits: [row.permissions] });
    if (row === undefined || rights === undefined) return null;
    return { id: row.id, name: row.name, secretHash: row.secret_hash, permissions: [...rights] };
  }

  private async read(id: string): Promise<OAuthClient> {
    const row = await this.db.manager.findOneBy(OAuthClient, { id });
    if (row === null) throw missing();
    return row;
  }

  private async record(
    tx: EntityManager,
    caller: Caller,
    action: string,
    { id, name, permissions }: { id: string; name: string; permissions: readonly Scope[] },
  ): Promise<void> {
    const target = { kind: 'oauth-client', id };
    await this.audit.appendBy(tx, caller, { action, target, detail: { name, permissions } });
  }
}

interface ClientRow extends OwnedRow {
  readonly id: string;
  readonly name: string;
  readonly permissions: Scope[];
  readonly secret_hash: Buffer | null;
}

function missing(): Problem {
  return new Problem('missing', 'oauth-client.missing', 'There is no such OAuth client.');
}

/** Nobody hands out what they do not hold. */
function assertHeld(caller: Caller, permissions: readonly Scope[]): void {
  const beyond = permissions.filter((scope) => !mayDo(caller.scopes, scope));
  if (beyond.length === 0) return;
  const detail = `You cannot grant what you do not hold: ${beyond.join(', ')}.`;
  throw new Problem('forbidden', 'oauth-client.beyond-caller', detail);
}
