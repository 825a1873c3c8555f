import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService } from '../../audit/audit.service.js';
import { isUniqueViolation } from '../../platform/database/database-error.js';
import { newId } from '../../platform/database/new-id.js';
import { Problem } from '../../platform/http/problem.js';
import { Seal } from '../../platform/sealing/seal.js';
import type { Caller } from '../caller.js';
import type { RoleName } from '../scopes.js';
import { assertMayGrant } from '../users/user-rules.js';
import type { ClaimRule } from './claim-rules.js';
import {
  IdentityProvider,
  type IdentityProviderKind,
  type OidcSettings,
  type SamlSettings,
} from './identity-provider.entity.js';

const SEAL = 'identity provider secret';

export interface IdentityProviderOrder {
  readonly name: string;
  readonly kind: IdentityProviderKind;
  readonly label: string;
  readonly enabled: boolean;
  readonly settings: OidcSettings | SamlSettings;
  /** Absent keeps what there is. */
  readonly clientSecret?: string;
  readonly rules: readonly ClaimRule[];
  readonly defaultRoles: readonly RoleName[] | null;
}

/** Identity providers and how their claims become roles. Secrets go in and never come out. */
@Injectable()
export class IdentityProvidersService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly seal: Seal,
  ) {}

  /** Creates or replaces the provider of this name. Nobody makes rules that give what they do not hold. */
  async put(caller: Caller, order: IdentityProviderOrder): Promise<IdentityProvider> {
    assertMayGrant(caller, [...order.rules.flatMap(({ roles }) => roles), ...(order.defaultRoles ?? [])]);
    try {
      return await this.db.transaction((tx) => this.putIn(tx, caller, order));
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      throw new Problem('conflict', 'identity-provider.changed', 'Somebody made a provider of this name just now.');
    }
  }

  async list(): Promise<IdentityProvider[]> {
    return this.db.manager.find(IdentityProvider, { order: { name: 'ASC' }, take: 200 });
  }

  async remove(caller: Caller, name: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const found = await tx.findOneBy(IdentityProvider, { name });
      if (found === null) throw missing();
      await tx.delete(IdentityProvider, { id: found.id });
      await this.record(tx, caller, 'identity-provider.removed', found);
    });
  }

  /** The enabled provider of this kind: the named one, or the only one. */
  async enabled(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    const where = { kind, enabled: true, ...(name === undefined ? {} : { name }) };
    const [found, ...others] = await this.db.manager.find(IdentityProvider, { where, take: 2 });
    if (found === undefined) throw missing();
    if (others.length > 0) throw new Problem('malformed', 'identity-provider.which', 'Name one: ?provider=…');
    return found;
  }

  async enabledById(id: string): Promise<IdentityProvider> {
    const found = await this.db.manager.findOneBy(IdentityProvider, { id, enabled: true });
    if (found === null) throw missing();
    return found;
  }

  clientSecretOf({ id, secret }: IdentityProvider): string | undefined {
    return secret === null ? undefined : this.seal.open(SEAL, id, secret).toString();
  }

  private async putIn(tx: EntityManager, caller: Caller, order: IdentityProviderOrder): Promise<IdentityProvider> {
    const known = await tx.findOneBy(IdentityProvider, { name: order.name });
    if (known !== null && known.kind !== order.kind) {
      throw new Problem('conflict', 'identity-provider.kind', 'A provider keeps its kind; remove it first.');
    }
    const id = known?.id ?? newId();
    const { clientSecret } = order;
    const secret =
      clientSecret === undefined ? (known?.secret ?? null) : this.seal.close(SEAL, id, Buffer.from(clientSecret));
    const row = {
      id,
      name: order.name,
      kind: order.kind,
      label: order.label,
      enabled: order.enabled,
      settings: order.settings,
      secret,
      rules: [...order.rules],
      defaultRoles: order.defaultRoles === null ? null : [...order.defaultRoles],
      updatedAt: new Date(),
    };
    if (known === null) await tx.insert(IdentityProvider, row);
    else await tx.update(IdentityProvider, { id }, row);
    await this.record(tx, caller, known === null ? 'identity-provider.created' : 'identity-provider.changed', row);
    return tx.findOneByOrFail(IdentityProvider, { id });
  }

  private async record(
    tx: EntityManager,
    caller: Caller,
    action: string,
    { id, name, kind, enabled, rules }: Pick<IdentityProvider, 'id' | 'name' | 'kind' | 'enabled' | 'rules'>,
  ): Promise<void> {
    const target = { kind: 'identity-provider', id };
    const { requestId: correlation, address: source } = caller.origin;
    const detail = { name, kind, enabled, rules };
    await this.audit.append(tx, [{ action, actor: caller, target, correlation, source, detail }]);
  }
}

function missing(): Problem {
  return new Problem('missing', 'identity-provider.missing', 'There is no such identity provider.');
}
