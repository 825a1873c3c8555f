import { Injectable } from '@nestjs/common';
import { DataSource, IsNull } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../audit/entries/audit.service.js';
import { isId, newId } from '../../platform/database/new-id.js';
import { Cursors, type Page } from '../../platform/http/cursors.js';
import type { PageQuery } from '../../platform/http/page.js';
import { Problem } from '../../platform/errors/problem.js';
import { type IdempotentUse, IdempotencyKeys } from '../../platform/idempotency/idempotency-keys.js';
import type { Caller } from '../../access/caller.js';
import { effectiveRights, type OwnedRow, ownedColumns, peopleOf } from '../rights/effective-rights.js';
import { SecretDisclosures } from '../rights/secret-disclosures.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { newSecret } from '../model/secret-text.js';
import { OAuthClient } from './oauth.entity.js';

export type OAuthClientType = 'confidential' | 'public';

export interface OAuthClientOrder {
  readonly name: string;
  readonly permissions: readonly Scope[];
  readonly type: OAuthClientType;
}

/** A client that is not revoked, with its rights now. */
export interface ActiveClient extends Pick<OAuthClient, 'id' | 'name' | 'secretHash'> {
  /** Its permissions, limited to what the people behind it may do. */
  readonly permissions: readonly Scope[];
}

/** OAuth clients: programs that get tokens. Their secret is shown once. */
@Injectable()
export class OAuthClientsService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly cursors: Cursors,
    private readonly idempotency: IdempotencyKeys,
    private readonly disclosures: SecretDisclosures,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('oauth-client');
  }

  /** Creates a client. A confidential one gets a secret, which only this answer has. */
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
      await this.record(tx, caller, 'oauth-client.created', id, { name, permissions });
      return tx.findOneByOrFail(OAuthClient, { id });
    });
    return { row, ...(secret === undefined ? {} : { secret: secret.text }) };
  }

  async list(query: PageQuery): Promise<Page<OAuthClient>> {
    return this.cursors.newest('oauth-clients', this.db.createQueryBuilder(OAuthClient, 'client'), query);
  }

  /**
   * Replaces the secret of a confidential client; the old one is invalid at once. If somebody else than the owner gets it, the client
   * is limited to what they may do as well, and they count as requesters of whatever it requests.
   */
  async replaceSecret(caller: Caller, id: string): Promise<{ row: OAuthClient; secret: string }> {
    const secret = newSecret('client');
    const row = await this.read(id);
    assertHeld(caller, row.permissions);
    if (row.revokedAt !== null || row.secretHash === null) {
      throw new Problem('conflict', 'oauth-client.no-secret', 'A public or revoked client has no secret.');
    }
    await this.db.transaction(async (tx) => {
      const { name, permissions } = row;
      const issuedTo = caller.ownerId === row.ownerId ? null : caller.ownerId;
      const change = { secretHash: secret.hash, issuedTo };
      const { affected } = await tx.update(OAuthClient, { id, revokedAt: IsNull() }, change);
      if (affected !== 1) throw missing();
      await this.disclosures.record(tx, caller, { kind: 'oauth-client', id, occasion: 'secret-replaced' });
      await this.record(tx, caller, 'oauth-client.secret-replaced', id, { name, permissions });
    });
    return { row, secret: secret.text };
  }

  /** Revokes a client. Its tokens are refused everywhere within five seconds; repeating the call changes nothing. */
  async revoke(caller: Caller, id: string): Promise<void> {
    const { name, permissions } = await this.read(id);
    await this.db.transaction(async (tx) => {
      const { affected } = await tx.update(OAuthClient, { id, revokedAt: IsNull() }, { revokedAt: () => 'now()' });
      if (affected === 1) await this.record(tx, caller, 'oauth-client.revoked', id, { name, permissions });
    });
  }

  /** The client with this client_id, which may be any text; null if it was revoked or a person behind it is disabled. */
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

/** Callers grant only scopes that they have. */
function assertHeld(caller: Caller, permissions: readonly Scope[]): void {
  const beyond = permissions.filter((scope) => !mayDo(caller.scopes, scope));
  if (beyond.length === 0) return;
  const detail = `You cannot grant what you do not hold: ${beyond.join(', ')}.`;
  throw new Problem('forbidden', 'oauth-client.beyond-caller', detail);
}
