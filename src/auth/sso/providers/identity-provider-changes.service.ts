import { changeSealed, insertSealed, lockSealed } from '../../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditService, type EntryRecorder } from '../../../audit/entries/audit.service.js';
import { assertListed } from '../../../platform/database/list-limit.js';
import { newId } from '../../../platform/database/new-id.js';
import { writeUnique } from '../../../platform/errors/database-error.js';
import { Problem } from '../../../platform/errors/problem.js';
import { staleProblem } from '../../../platform/http/versions.js';
import { canonicalJson } from '../../../platform/json/canonical-json.js';
import { OutboundClient } from '../../../platform/outbound/outbound-client.js';
import { LastingSeal } from '../../../platform/sealing/lasting-seal.js';
import type { Caller } from '../../../access/caller.js';
import type { RoleName } from '../../../access/scopes.js';
import { Session } from '../../model/session.entity.js';
import { stillMay } from '../../rights/still-may.js';
import { lockTokens } from '../../credentials/sessions/session-grounds.js';
import { SessionsService } from '../../credentials/sessions/sessions.service.js';
import { administratorsWhoCanSignIn, lockAdministrators } from '../../people/users/administrators.js';
import { assertMayGrant } from '../../people/users/user-administration.service.js';
import type { ClaimRule } from '../../model/identity-provider.entity.js';
import {
  hasOurKey,
  IdentityProvider,
  type IdentityProviderKind,
  type OidcSettings,
  type SamlSettings,
  issuerOf,
  oidcRedirectOf,
} from '../../model/identity-provider.entity.js';
import { differenceOf, providerFacts } from './identity-provider-facts.js';
import { MAX_PROVIDERS, PROVIDER_SECRET_SEAL, providerMissing } from './identity-providers.service.js';
import { usableCertificates } from './saml-certificates.js';
import { type TestedNameFormat, withSeenFormat } from './saml-name-format.js';
import { newSignatureKey, type SignatureKey } from './signature-key.js';

export interface IdentityProviderOrder {
  readonly name: string;
  readonly kind: IdentityProviderKind;
  readonly label: string;
  readonly enabled: boolean;
  readonly settings: OidcSettings | SamlSettings;
  /** New client secret; if absent, the stored secret is kept. */
  readonly clientSecret?: string;
  /** Whether to create a new signing key even if a key is stored. */
  readonly newKey?: boolean;
  readonly rules: readonly ClaimRule[];
  readonly defaultRoles: readonly RoleName[] | null;
}

/** ChangeConditions are the preconditions of a change. */
export interface ChangeConditions {
  /** The version that the caller read; if absent, any version is accepted. */
  readonly version?: number | undefined;
  /** Name of the provider, to confirm that the caller's own session ends. */
  readonly confirm?: string | undefined;
}

/** IdentityProviderChanges creates, changes and removes identity providers. Secrets are write-only. */
@Injectable()
export class IdentityProviderChanges {
  private readonly record: EntryRecorder;

  constructor(
    private readonly db: DataSource,
    private readonly seal: LastingSeal,
    private readonly outbound: OutboundClient,
    private readonly sessions: SessionsService,
    audit: AuditService,
  ) {
    this.record = audit.recorderFor('identity-provider');
  }

  /**
   * Records the NameID format of a test sign-in, unless the settings specify a format or a format is already recorded. Later sign-ins must have the recorded
   * format.
   */
  async keepNameFormat(caller: Caller, { providerId: id, version, format }: TestedNameFormat): Promise<void> {
    await this.db.transaction(async (tx) => {
      const now = await lockSealed(tx, IdentityProvider, { id, version });
      const settings = now === null ? undefined : withSeenFormat(now.settings as SamlSettings, format);
      if (settings === undefined) return;
      await changeSealed(tx, IdentityProvider, { id }, { settings });
      await this.record(tx, caller, 'identity-provider.name-format-recorded', id, { format });
    });
  }

  /**
   * Creates or changes the provider with this name. The kind and the issuer of a provider cannot be changed. Rules can grant only roles whose scopes the caller
   * has.
   */
  async put(
    caller: Caller,
    order: IdentityProviderOrder,
    conditions: ChangeConditions = {},
  ): Promise<IdentityProvider> {
    assertMayGrant(caller, rolesIn(order));
    if ('issuer' in order.settings) {
      assertSecretFits(order.settings, order.clientSecret);
      await this.assertCallable(order.settings.issuer);
    }
    const key = hasOurKey(order.settings) ? await this.newKeyFor(order) : undefined;
    const detail = `An identity provider named "${order.name}" has just been created. Read it, then retry.`;
    const changed = () => new Problem('conflict', 'identity-provider.changed', detail);
    return writeUnique(this.db, (tx) => this.putIn(tx, caller, order, { key, ...conditions }), changed);
  }

  async remove(caller: Caller, name: string, conditions: ChangeConditions = {}): Promise<void> {
    await this.db.transaction(async (tx) => {
      const found = await locked(tx, name);
      if (found === null) throw providerMissing();
      if (found.enabled) await assertNotOwn(tx, caller, found, conditions.confirm);
      await keepingAdministrators(tx, () => tx.delete(IdentityProvider, { id: found.id }));
      await this.sessions.endProviderIn(tx, caller, { providerId: found.id, because: 'provider-disabled' });
      await this.record(tx, caller, 'identity-provider.removed', found.id, providerFacts(found));
    });
  }

  /** Creates a signing key, unless the stored key is kept. Called before the transaction, because generating a key takes time. */
  private async newKeyFor({ name, newKey }: IdentityProviderOrder): Promise<SignatureKey | undefined> {
    const known = await this.db.manager.findOneBy(IdentityProvider, { name });
    const isThere = known !== null && known.secret !== null && hasOurKey(known.settings) && newKey !== true;
    return isThere ? undefined : newSignatureKey(`Sealwright ${name}`);
  }

  /** Rejects an issuer to which outbound calls are not allowed. Each call is checked again when the call is made. */
  private async assertCallable(issuer: string): Promise<void> {
    const why = await this.outbound.refusalOf(issuer);
    if (why === undefined) return;
    throw new Problem('refused', 'identity-provider.address', `/issuer: ${why}.`, {
      errors: [{ pointer: '/issuer', detail: why }],
    });
  }

  private async putIn(
    tx: EntityManager,
    caller: Caller,
    order: IdentityProviderOrder,
    { key, version, confirm }: ChangeConditions & { key: SignatureKey | undefined },
  ): Promise<IdentityProvider> {
    const known = await locked(tx, order.name);
    // Same lock order as `keepingAdministrators`, which acquires a stronger lock.
    await lockAdministrators(tx);
    assertMayGrant(await stillMay(tx, caller), rolesIn(order));
    if (version !== undefined && known?.version !== version) throw staleProblem(pathOf(order.name));
    if (known === null) await assertListed(tx, IdentityProvider, MAX_PROVIDERS);
    else await this.assertMayBecome(tx, caller, known, { order, confirm });
    const settings = await settingsOf(tx, order, { key, known });
    const id = known?.id ?? newId();
    const { name, kind, label, enabled, rules, defaultRoles } = order;
    const row = {
      id,
      name,
      kind,
      label,
      enabled,
      settings,
      secret: await this.sealedSecret(id, key?.privateKey ?? order.clientSecret, order, known),
      rules: [...rules],
      defaultRoles: defaultRoles === null ? null : [...defaultRoles],
      version: (known?.version ?? 0) + 1,
      updatedAt: new Date(),
    };
    await this.store(tx, caller, row, known);
    return tx.findOneByOrFail(IdentityProvider, { id });
  }

  /**
   * Writes the provider and its audit entry. Disabling a provider also ends its sessions, approved device codes and pending sign-ins. A change that removes a
   * certificate or a rule has the same effect, because a session does not record which certificate or rule admitted the person. In this case, the
   * caller's own session is kept.
   */
  private async store(
    tx: EntityManager,
    caller: Caller,
    row: Omit<IdentityProvider, 'createdAt' | 'seal'>,
    known: IdentityProvider | null,
  ): Promise<void> {
    const { id } = row;
    if (known === null) await insertSealed(tx, IdentityProvider, row);
    else await keepingAdministrators(tx, () => changeSealed(tx, IdentityProvider, { id }, row));
    if (known?.enabled === true && !row.enabled)
      await this.sessions.endProviderIn(tx, caller, { providerId: id, because: 'provider-disabled' });
    const isNarrower = known !== null && admitsLess(known, row);
    if (isNarrower && row.enabled) {
      const end = { providerId: id, because: 'provider-changed', kept: caller.session?.id };
      await this.sessions.endProviderIn(tx, caller, end);
    }
    const action = known === null ? 'identity-provider.created' : 'identity-provider.changed';
    const changed = known === null ? {} : { changed: differenceOf(known, row), admitsLess: isNarrower };
    await this.record(tx, caller, action, id, { ...providerFacts(row), ...changed });
  }

  /**
   * Rejects a change to the provider's kind or issuer. User identifiers and the secret belong to the provider. Another provider could use the same identifiers
   * for other people, and would receive the secret.
   */
  private async assertMayBecome(
    tx: EntityManager,
    caller: Caller,
    known: IdentityProvider,
    { order, confirm }: { order: IdentityProviderOrder; confirm: string | undefined },
  ): Promise<void> {
    if (known.kind !== order.kind) {
      throw new Problem(
        'conflict',
        'identity-provider.kind',
        'The kind of an identity provider cannot be changed. Delete the provider and create it again.',
      );
    }
    if (issuerOf(known.settings) !== issuerOf(order.settings)) {
      const detail =
        'The issuer or entity ID of an identity provider cannot be changed, because it identifies the users. Delete the provider and create it again.';
      throw new Problem('conflict', 'identity-provider.issuer', detail);
    }
    if (hasNewCertificate(known.settings, order.settings)) assertMayGrant(caller, await rolesOfPeople(tx, known.id));
    if (known.enabled && !order.enabled) await assertNotOwn(tx, caller, known, confirm);
  }

  /** Returns the new secret, sealed, or the stored secret if no new secret was given. */
  private async sealedSecret(
    id: string,
    given: string | undefined,
    { settings }: IdentityProviderOrder,
    known: IdentityProvider | null,
  ): Promise<Buffer | null> {
    const kept = known !== null && keepsSecret(known.settings, settings) ? known.secret : null;
    if ('issuer' in settings) assertSecretThere(settings, given !== undefined || kept !== null);
    return given === undefined ? kept : this.seal.close(PROVIDER_SECRET_SEAL, id, Buffer.from(given));
  }
}

function rolesIn({ rules, defaultRoles }: IdentityProviderOrder): RoleName[] {
  return [...rules.flatMap(({ roles }) => roles), ...(defaultRoles ?? [])];
}

/**
 * Reads and locks the provider until the transaction ends. With a row lock alone, the transaction would wait as long as sign-ins keep acquiring shared locks on
 * the row.
 */
async function locked(tx: EntityManager, name: string): Promise<IdentityProvider | null> {
  const known = await tx.findOne(IdentityProvider, { select: { id: true }, where: { name } });
  if (known !== null) await lockTokens(tx, 'identity provider', known.id);
  return tx.findOne(IdentityProvider, { where: { name }, lock: { mode: 'pessimistic_write' } });
}

function pathOf(name: string): string {
  return `/api/settings/identity-providers/${name}`;
}

/** Requires a confirmation before the caller's own session is ended. */
async function assertNotOwn(
  tx: EntityManager,
  { session }: Caller,
  { id, name }: IdentityProvider,
  confirm: string | undefined,
): Promise<void> {
  if (session === undefined || confirm === name) return;
  if (!(await tx.existsBy(Session, { id: session.id, providerId: id }))) return;
  const detail = `You are signed in through "${name}", so this change also ends your own session. To confirm, repeat the request with ?confirm=${name}.`;
  throw new Problem('conflict', 'identity-provider.own', detail);
}

/** Performs a change, and verifies that at least one administrator can still sign in if one could before. */
async function keepingAdministrators(tx: EntityManager, change: () => Promise<unknown>): Promise<void> {
  const before = await lockAdministrators(tx);
  await change();
  if (before.length === 0 || (await administratorsWhoCanSignIn(tx)).length > 0) return;
  const detail =
    'No administrator could sign in after this change. First set a password for an administrator, or add a rule for the admin role to another identity provider.';
  throw new Problem('conflict', 'identity-provider.last-administrator', detail);
}

/** Reports whether a certificate was added. The owner of the certificate's private key can sign in as any user of the provider. */
function hasNewCertificate(before: OidcSettings | SamlSettings, now: OidcSettings | SamlSettings): boolean {
  if (!('certificates' in before) || !('certificates' in now)) return false;
  const known = new Set(usableCertificates(before.certificates));
  return now.certificates.some((certificate) => !known.has(certificate));
}

/**
 * admitsLess reports whether a certificate, a rule or a default role of the provider was removed, or whether the provider may identify its subjects differently
 * after the change.
 */
function admitsLess(
  before: Pick<IdentityProvider, 'settings' | 'rules' | 'defaultRoles'>,
  now: Pick<IdentityProvider, 'settings' | 'rules' | 'defaultRoles'>,
): boolean {
  const rules = new Set(now.rules.map((rule) => canonicalJson(rule)));
  return (
    hasNewCertificate(now.settings, before.settings) ||
    subjectsOf(before.settings) !== subjectsOf(now.settings) ||
    before.rules.some((rule) => !rules.has(canonicalJson(rule))) ||
    (before.defaultRoles ?? []).some((role) => now.defaultRoles?.includes(role) !== true)
  );
}

/** Returns the setting that determines how a provider identifies its subjects: pairwise subjects of OpenID Connect depend on the client. */
function subjectsOf(settings: OidcSettings | SamlSettings): string | null {
  return 'issuer' in settings ? settings.clientId : (settings.nameIdFormat ?? null);
}

/** Returns all roles of the users known to this provider. */
async function rolesOfPeople(tx: EntityManager, providerId: string): Promise<RoleName[]> {
  const rows: { role: RoleName }[] = await tx.query(
    `SELECT DISTINCT unnest(u.roles) AS role FROM external_identity e JOIN user_account u ON u.id = e.user_id WHERE e.provider_id = $1`,
    [providerId],
  );
  return rows.map(({ role }) => role);
}

interface Stored {
  readonly key: SignatureKey | undefined;
  readonly known: IdentityProvider | null;
}

async function settingsOf(tx: EntityManager, order: IdentityProviderOrder, { key, known }: Stored) {
  const ourCertificate = key?.certificate ?? known?.settings.ourCertificate;
  const ours = ourCertificate === undefined || !hasOurKey(order.settings) ? {} : { ourCertificate };
  if (!('issuer' in order.settings))
    return { ...order.settings, ...ours, ...seenFormatOf(known?.settings, order.settings) };
  const before = known === null ? 'own' : oidcRedirectOf(known.settings);
  const redirect = order.settings.redirect ?? before;
  if (redirect === 'shared' && before === 'own') await assertNobodyShares(tx, order.name);
  return { ...order.settings, redirect, ...ours };
}

/** Keeps the recorded NameID format unless nameIdFormat changes. After a change, the next test sign-in sets the format again. */
function seenFormatOf(
  before: OidcSettings | SamlSettings | undefined,
  now: SamlSettings,
): Pick<SamlSettings, 'seenNameIdFormat'> {
  if (before === undefined || !('entityId' in before) || before.seenNameIdFormat === undefined) return {};
  return before.nameIdFormat === now.nameIdFormat ? { seenNameIdFormat: before.seenNameIdFormat } : {};
}

/**
 * Rejects the shared redirect URI if another provider uses it, because one provider could receive the authorization codes of the other (RFC 9700 section 4.4).
 */
async function assertNobodyShares(tx: EntityManager, name: string): Promise<void> {
  const all = await tx.findBy(IdentityProvider, { kind: 'oidc' });
  const other = all.find((one) => one.name !== name && oidcRedirectOf(one.settings) === 'shared');
  if (other === undefined) return;
  const detail = `the identity provider "${other.name}" already uses the shared redirect URI; use "own"`;
  throw new Problem('refused', 'identity-provider.redirect', `/redirect: ${detail}.`, {
    errors: [{ pointer: '/redirect', detail }],
  });
}

/** Rejects a client secret that the chosen authentication method does not use. */
function assertSecretFits({ clientAuthentication }: OidcSettings, given: string | undefined): void {
  if (given === undefined) return;
  if (clientAuthentication !== 'none' && clientAuthentication !== 'private_key_jwt') return;
  throw refused(`${clientAuthentication} does not use a client secret; omit it`);
}

/** Rejects an authentication method whose required secret is missing. */
function assertSecretThere({ clientAuthentication }: OidcSettings, isThere: boolean): void {
  if (isThere || clientAuthentication == null || clientAuthentication === 'none') return;
  throw refused(`is required for ${clientAuthentication}`);
}

/** Reports whether the stored secret matches the new settings. A private key of the service never becomes a client secret. */
function keepsSecret(before: OidcSettings | SamlSettings, now: OidcSettings | SamlSettings): boolean {
  const isPublic = 'issuer' in now && now.clientAuthentication === 'none';
  return !isPublic && hasOurKey(before) === hasOurKey(now);
}

function refused(detail: string): Problem {
  return new Problem('refused', 'identity-provider.client-secret', `/clientSecret: ${detail}.`, {
    errors: [{ pointer: '/clientSecret', detail }],
  });
}
