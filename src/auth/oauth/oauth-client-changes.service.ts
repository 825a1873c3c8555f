import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import type { Caller } from '../../access/caller.js';
import { includesPatterns } from '../../access/key-patterns.js';
import type { Scope } from '../../access/scopes.js';
import { AuditService } from '../../audit/entries/audit.service.js';
import { confirmRead } from '../../platform/database/statements.js';
import { Problem } from '../../platform/errors/problem.js';
import { staleProblem } from '../../platform/http/versions.js';
import { changeSealed, lockSealed } from '../../platform/sealing/sealed-rows.js';
import { differencesOf, faultOfPermissions, versionOf } from '../model/credential-change.js';
import { OAuthClient } from '../model/oauth.entity.js';
import { assertHeld, assertUsableByPrograms, assertUsableKeys, OAuthClientsService } from './oauth-clients.service.js';

/** OAuthClientChange is a change to an OAuth client. Omitted members remain unchanged. */
export interface OAuthClientChange {
  readonly name?: string;
  readonly permissions?: Scope[];
  /** Names and patterns of the signing keys that the client's tokens can use; null allows every signing key. */
  readonly signingKeys?: string[] | null;
}

/**
 * OAuthClientChangesService changes OAuth clients. A change takes effect in every process within five seconds, including for tokens that were issued before the
 * change.
 */
@Injectable()
export class OAuthClientChangesService {
  constructor(
    private readonly db: DataSource,
    private readonly clients: OAuthClientsService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Changes a client. To remove a restriction from the client, the caller must have all of the client's permissions, as when creating a client.
   *
   * @param version version of the client that the caller read
   * @throws Problem `request.stale`, `oauth-client.over`, `oauth-client.more-permissions`, `oauth-client.beyond-caller`
   */
  change(caller: Caller, id: string, version: number, change: OAuthClientChange): Promise<OAuthClient> {
    return this.db.transaction((tx) => this.changeIn(tx, caller, { id, version }, change));
  }

  private async changeIn(
    tx: EntityManager,
    caller: Caller,
    { id, version }: { id: string; version: number },
    change: OAuthClientChange,
  ): Promise<OAuthClient> {
    await this.clients.get(id, tx);
    const row = await lockSealed(tx, OAuthClient, { id });
    if (row === null || row.revokedAt !== null) throw revoked();
    if (versionOf(row) !== version) throw staleProblem(`/api/settings/oauth-clients/${id}`);
    const { name, permissions, signingKeys } = row;
    const changed = differencesOf({ name, permissions, signingKeys }, change);
    if (changed === undefined) {
      await confirmRead(tx);
      return row;
    }
    assertChangeable(caller, row, change);
    const next = { ...changed.after, revision: version + 1 };
    if ((await changeSealed(tx, OAuthClient, { id, revokedAt: IsNull() }, next)) !== 1) throw revoked();
    const target = { kind: 'oauth-client', id };
    await this.audit.appendBy(tx, caller, { action: 'oauth-client.changed', target, detail: { name, ...changed } });
    return this.clients.get(id, tx);
  }
}

function assertChangeable(caller: Caller, row: OAuthClient, change: OAuthClientChange): void {
  const { permissions = row.permissions, signingKeys = row.signingKeys } = change;
  const fault = faultOfPermissions(row.permissions, permissions);
  if (fault !== undefined) throw new Problem('refused', 'oauth-client.more-permissions', fault.detail, fault);
  if (row.secretHash !== null) assertUsableByPrograms(permissions.filter((scope) => !row.permissions.includes(scope)));
  if (includesPatterns(row.signingKeys, signingKeys)) return;
  assertHeld(caller, permissions);
  assertUsableKeys(caller, signingKeys);
}

function revoked(): Problem {
  return new Problem('conflict', 'oauth-client.over', 'This OAuth client cannot be changed, because it was revoked.');
}
