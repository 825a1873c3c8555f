import { changeSealed, insertSealed, trusted, trustedRows } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { newId } from '../../../platform/database/new-id.js';
import { writeUnique } from '../../../platform/database/database-error.js';
import { Problem } from '../../../platform/errors/problem.js';
import { OutboundClient } from '../../../platform/outbound/outbound-client.js';
import { LastingSeal } from '../../../platform/sealing/lasting-seal.js';
import type { Caller } from '../../../access/caller.js';
import type { RoleName } from '../../../access/scopes.js';
import { assertMayGrant } from '../../users/user-administration.service.js';
import type { ClaimRule } from '../../model/identity-provider.entity.js';
import {
  hasOurKey,
  IdentityProvider,
  type IdentityProviderKind,
  type OidcSettings,
  type SamlSettings,
  issuerKey,
} from '../../model/identity-provider.entity.js';
import { usableCertificates } from './saml-certificates.js';
import { newSignatureKey, type SignatureKey } from './signature-key.js';

const SEAL = 'identity provider secret';
export const SEALED_PROVIDER_SECRET = {
  table: 'identity_provider',
  column: 'secret',
  purpose: SEAL,
  place: 't.id::text',
} as const;

export interface IdentityProviderOrder {
  readonly name: string;
  readonly kind: IdentityProviderKind;
  readonly label: string;
  readonly enabled: boolean;
  readonly settings: OidcSettings | SamlSettings;
  /** Absent: the stored one stays. */
  readonly clientSecret?: string;
  /** Makes a new signature key even if there is one. */
  readonly newKey?: boolean;
  readonly rules: readonly ClaimRule[];
  readonly defaultRoles: readonly RoleName[] | null;
}

/** Identity providers and the rules that map their claims to roles. Secrets are write-only. */
@Injectable()
export class IdentityProvidersService {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
    private readonly outbound: OutboundClient,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('identity-provider');
  }

  /** Creates or changes the provider of this name; its identity cannot change. Rules give only roles whose scopes the caller has. */
  async put(caller: Caller, order: IdentityProviderOrder): Promise<IdentityProvider> {
    assertMayGrant(caller, [...order.rules.flatMap(({ roles }) => roles), ...(order.defaultRoles ?? [])]);
    if ('issuer' in order.settings) {
      assertSecretFits(order.settings, order.clientSecret);
      await this.assertCallable(order.settings.issuer);
    }
    const key = hasOurKey(order.settings) ? await this.newKeyFor(order) : undefined;
    const detail = 'Somebody made a provider of this name just now.';
    const changed = () => new Problem('conflict', 'identity-provider.changed', detail);
    return writeUnique(this.db, (tx) => this.putIn(tx, caller, order, key), changed);
  }

  async list(): Promise<IdentityProvider[]> {
    return this.db.manager.find(IdentityProvider, { order: { name: 'ASC' }, take: 200 });
  }

  async remove(caller: Caller, name: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const found = await locked(tx, name);
      if (found === null) throw missing();
      await tx.delete(IdentityProvider, { id: found.id });
      await this.record(tx, caller, 'identity-provider.removed', found.id, auditDetailOf(found));
    });
  }

  /** The enabled provider of this kind: the named one, or the only one. */
  async enabled(kind: IdentityProviderKind, name: string | undefined): Promise<IdentityProvider> {
    const where = { kind, enabled: true, ...(name === undefined ? {} : { name }) };
    const rows = await this.db.manager.find(IdentityProvider, { where, take: 2 });
    const [found, ...others] = trustedRows(this.db.manager, IdentityProvider, rows);
    if (found === undefined) throw missing();
    if (others.length > 0) throw new Problem('malformed', 'identity-provider.which', 'Name one: ?provider=…');
    return found;
  }

  async named(name: string): Promise<IdentityProvider> {
    const found = trusted(
      this.db.manager,
      IdentityProvider,
      await this.db.manager.findOneBy(IdentityProvider, { name }),
    );
    if (found === null) throw missing();
    return found;
  }

  async enabledById(id: string): Promise<IdentityProvider> {
    const row = await this.db.manager.findOneBy(IdentityProvider, { id, enabled: true });
    const found = trusted(this.db.manager, IdentityProvider, row);
    if (found === null) throw missing();
    return found;
  }

  async enabledOidc(): Promise<IdentityProvider[]> {
    const all = await this.db.manager.findBy(IdentityProvider, { kind: 'oidc', enabled: true });
    return trustedRows(this.db.manager, IdentityProvider, all);
  }

  async enabledWithEntityId(entityId: string): Promise<IdentityProvider | undefined> {
    const all = await this.db.manager.findBy(IdentityProvider, { kind: 'saml', enabled: true });
    return trustedRows(this.db.manager, IdentityProvider, all).find(
      ({ settings }) => (settings as SamlSettings).entityId === entityId,
    );
  }

  /** Client secret of OIDC, or our private key (PEM) where `hasOurKey`. */
  async secretOf({ id, secret }: IdentityProvider): Promise<string | undefined> {
    return secret === null ? undefined : (await this.seal.open(SEAL, id, secret)).toString();
  }

  /** Makes the key before the transaction, since that takes a while. */
  private async newKeyFor({ name, newKey }: IdentityProviderOrder): Promise<SignatureKey | undefined> {
    const known = await this.db.manager.findOneBy(IdentityProvider, { name });
    const isThere = known !== null && known.secret !== null && hasOurKey(known.settings) && newKey !== true;
    return isThere ? undefined : newSignatureKey(`Sealwright ${name}`);
  }

  /** Refuses an issuer that outbound calls cannot reach. Each call is checked again when it is made. */
  private async assertCallable(issuer: string): Promise<void> {
    const why = await this.outbound.refusalOf(issuer);
    if (why === undefined) return;
    throw new Problem('refused', 'identity-provider.address', `The issuer cannot be called: ${why}.`, {
      errors: [{ pointer: '/issuer', detail: why }],
    });
  }

  private async putIn(
    tx: EntityManager,
    caller: Caller,
    order: IdentityProviderOrder,
    key: SignatureKey | undefined,
  ): Promise<IdentityProvider> {
    const known = await locked(tx, order.name);
    if (known !== null && known.kind !== order.kind) {
      throw new Problem('conflict', 'identity-provider.kind', 'A provider keeps its kind; remove it first.');
    }
    // Identifiers of people and the secret belong to this provider: with another one they would admit strangers, or be sent to strangers.
    if (known !== null && issuerOf(known.settings) !== issuerOf(order.settings)) {
      const detail = 'A provider keeps its issuer or entity id, by which its people are known; remove it first.';
      throw new Problem('conflict', 'identity-provider.issuer', detail);
    }
    if (known !== null && hasNewCertificate(known.settings, order.settings))
      assertMayGrant(caller, await rolesOfPeople(tx, known.id));
    const id = known?.id ?? newId();
    const { name, kind, label, enabled, rules, defaultRoles } = order;
    const row = {
      id,
      name,
      kind,
      label,
      enabled,
      settings: settingsOf(order, key, known),
      secret: await this.sealedSecret(id, key?.privateKey ?? order.clientSecret, order, known),
      rules: [...rules],
      defaultRoles: defaultRoles === null ? null : [...defaultRoles],
      updatedAt: new Date(),
    };
    if (known === null) await insertSealed(tx, IdentityProvider, row);
    else await changeSealed(tx, IdentityProvider, { id }, row);
    const action = known === null ? 'identity-provider.created' : 'identity-provider.changed';
    await this.record(tx, caller, action, id, auditDetailOf(row));
    return tx.findOneByOrFail(IdentityProvider, { id });
  }

  /** The new secret, sealed; without one the stored secret stays. */
  private async sealedSecret(
    id: string,
    given: string | undefined,
    { settings }: IdentityProviderOrder,
    known: IdentityProvider | null,
  ): Promise<Buffer | null> {
    const kept = known !== null && keepsSecret(known.settings, settings) ? known.secret : null;
    if ('issuer' in settings) assertSecretThere(settings, given !== undefined || kept !== null);
    return given === undefined ? kept : this.seal.close(SEAL, id, Buffer.from(given));
  }
}

/** Reads and locks the provider until the end of the transaction, so that what is kept of it does not change meanwhile. */
function locked(tx: EntityManager, name: string): Promise<IdentityProvider | null> {
  return tx.findOne(IdentityProvider, { where: { name }, lock: { mode: 'pessimistic_write' } });
}

function auditDetailOf({ name, kind, enabled, rules }: Pick<IdentityProvider, 'name' | 'kind' | 'enabled' | 'rules'>) {
  return { name, kind, enabled, rules };
}

function missing(): Problem {
  return new Problem('missing', 'identity-provider.missing', 'There is no such identity provider.');
}

function issuerOf(settings: OidcSettings | SamlSettings): string {
  return 'issuer' in settings ? issuerKey(settings.issuer) : settings.entityId;
}

/** Whether there is a certificate that was not there before. Whoever has its key can sign in as any person of the provider. */
function hasNewCertificate(before: OidcSettings | SamlSettings, now: OidcSettings | SamlSettings): boolean {
  if (!('certificates' in before) || !('certificates' in now)) return false;
  const known = new Set(usableCertificates(before.certificates));
  return now.certificates.some((certificate) => !known.has(certificate));
}

/** Every role that somebody has who is known by this provider. */
async function rolesOfPeople(tx: EntityManager, providerId: string): Promise<RoleName[]> {
  const rows: { role: RoleName }[] = await tx.query(
    `SELECT DISTINCT unnest(u.roles) AS role FROM external_identity e JOIN user_account u ON u.id = e.user_id WHERE e.provider_id = $1`,
    [providerId],
  );
  return rows.map(({ role }) => role);
}

function settingsOf(order: IdentityProviderOrder, key: SignatureKey | undefined, known: IdentityProvider | null) {
  const ourCertificate = key?.certificate ?? known?.settings.ourCertificate;
  return ourCertificate === undefined || !hasOurKey(order.settings)
    ? order.settings
    : { ...order.settings, ourCertificate };
}

/** Refuses a client secret that the chosen client authentication does not use. */
function assertSecretFits({ clientAuthentication }: OidcSettings, given: string | undefined): void {
  if (given === undefined) return;
  if (clientAuthentication !== 'none' && clientAuthentication !== 'private_key_jwt') return;
  throw refused(`${clientAuthentication} has no use for a client secret; leave it out`);
}

/** Refuses a client authentication without the secret that it needs. */
function assertSecretThere({ clientAuthentication }: OidcSettings, isThere: boolean): void {
  if (isThere || clientAuthentication == null || clientAuthentication === 'none') return;
  throw refused(`${clientAuthentication} needs a client secret`);
}

/** Whether the stored secret fits the new settings: a private key of ours never becomes a client secret. */
function keepsSecret(before: OidcSettings | SamlSettings, now: OidcSettings | SamlSettings): boolean {
  const isPublic = 'issuer' in now && now.clientAuthentication === 'none';
  return !isPublic && hasOurKey(before) === hasOurKey(now);
}

function refused(detail: string): Problem {
  return new Problem('refused', 'identity-provider.client-secret', `/clientSecret: ${detail}.`, {
    errors: [{ pointer: '/clientSecret', detail }],
  });
}
