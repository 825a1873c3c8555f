import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, IsNull } from 'typeorm';
import type { Caller } from '../../../access/caller.js';
import { includesPatterns } from '../../../access/key-patterns.js';
import type { Scope } from '../../../access/scopes.js';
import { AuditService } from '../../../audit/entries/audit.service.js';
import { confirmRead } from '../../../platform/database/statements.js';
import { Problem } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { changeSealed, lockSealed } from '../../../platform/sealing/sealed-rows.js';
import { ApiKey } from '../../model/api-key.entity.js';
import { differencesOf, faultOfPermissions, versionOf } from '../../model/credential-change.js';
import { ApiKeysService, assertHeld, assertUsableByPrograms, assertUsableKeys } from './api-keys.service.js';

/** ApiKeyChange is a change to an API key. Omitted members remain unchanged. */
export interface ApiKeyChange {
  readonly name?: string;
  readonly permissions?: Scope[];
  /** IP addresses and CIDR blocks from which the key can be used; null allows every address. */
  readonly addresses?: string[] | null;
  /** Names and patterns of the signing keys that the key can use; null allows every signing key. */
  readonly keys?: string[] | null;
}

/** ApiKeyChangesService changes API keys. A change takes effect in every process within five seconds. */
@Injectable()
export class ApiKeyChangesService {
  constructor(
    private readonly db: DataSource,
    private readonly apiKeys: ApiKeysService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Changes a key. To remove a restriction from the key, the caller must have all of the key's permissions, as when creating a key.
   *
   * @param version version of the key that the caller read
   * @throws Problem `request.stale`, `api-key.over`, `api-key.more-permissions`, `api-key.beyond-caller`
   */
  async change(caller: Caller, id: string, version: number, change: ApiKeyChange): Promise<ApiKey> {
    const row = await this.db.transaction((tx) => this.changeIn(tx, caller, { id, version }, change));
    this.apiKeys.forget(row);
    return row;
  }

  private async changeIn(
    tx: EntityManager,
    caller: Caller,
    { id, version }: { id: string; version: number },
    change: ApiKeyChange,
  ): Promise<ApiKey> {
    await this.apiKeys.get(id, tx);
    const row = await lockSealed(tx, ApiKey, { id });
    if (row === null || row.revokedAt !== null) throw revoked();
    if (versionOf(row) !== version) throw staleProblem(`/api/settings/api-keys/${id}`);
    const { name, permissions, addresses, signingKeys: keys } = row;
    const changed = differencesOf({ name, permissions, addresses, keys }, change);
    if (changed === undefined) {
      await confirmRead(tx);
      return row;
    }
    assertChangeable(caller, row, change);
    const { keys: signingKeys, ...values } = changed.after;
    const next = { ...values, ...(signingKeys === undefined ? {} : { signingKeys }), revision: version + 1 };
    if ((await changeSealed(tx, ApiKey, { id, revokedAt: IsNull() }, next)) !== 1) throw revoked();
    const target = { kind: 'api-key', id };
    await this.audit.appendBy(tx, caller, { action: 'api-key.changed', target, detail: { name, ...changed } });
    return this.apiKeys.get(id, tx);
  }
}

function assertChangeable(caller: Caller, row: ApiKey, change: ApiKeyChange): void {
  const { permissions = row.permissions, addresses = row.addresses, keys = row.signingKeys } = change;
  const fault = faultOfPermissions(row.permissions, permissions);
  if (fault !== undefined) throw new Problem('refused', 'api-key.more-permissions', fault.detail, fault);
  assertUsableByPrograms(permissions.filter((scope) => !row.permissions.includes(scope)));
  const isWider = !includesPatterns(row.signingKeys, keys) || !isWithin(row.addresses, addresses);
  if (isWider) assertHeld(caller, permissions);
  if (!includesPatterns(row.signingKeys, keys)) assertUsableKeys(caller, keys);
}

/**
 * Reports whether every address in `after` was already listed in `before`. A block that is not listed in `before` counts as new, even if a listed block
 * contains it.
 */
function isWithin(before: readonly string[] | null, after: readonly string[] | null): boolean {
  return before === null || (after !== null && after.every((one) => before.includes(one)));
}

function revoked(): Problem {
  return new Problem('conflict', 'api-key.over', 'This API key cannot be changed, because it was revoked.');
}
