import { sealsOf } from '../../platform/sealing/row-seals.js';
import { trustedRows } from '../../platform/sealing/sealed-rows.js';
import { Injectable } from '@nestjs/common';
import { DataSource, In } from 'typeorm';
import { type Caller, isOwnedBy } from '../../access/caller.js';
import { ExternalIdentity } from '../../auth/model/external-identity.entity.js';
import { IdentityProvider } from '../../auth/model/identity-provider.entity.js';
import type { Claims, VerifiedIdentity } from '../../access/identity/verified-identity.js';
import { Problem } from '../../platform/errors/problem.js';
import type { IdempotentUse } from '../../platform/http/idempotency-keys.js';
import { truncate } from '../../platform/text/truncate.js';
import { Clock } from '../../platform/work/clock.js';
import { authoritiesBy } from '../certificate-authority/ssh-authority.entity.js';
import { type CertificateRequest, SshCertificate } from '../certificate-authority/ssh-certificate.entity.js';
import type { CertificateKind } from '../certificate-authority/ssh-certificate.js';
import { SshCertificatesService } from '../certificate-authority/ssh-certificates.service.js';
import { principalsOf, ruleFor } from './login-principals.js';
import { requiredOrigin } from './required-origin.js';
import { type LoginSubject, SshLoginRule } from '../certificate-authority/ssh-login-rule.entity.js';

/** Time by which validAfter is backdated, because host clocks may be slow. */
const EARLIER_MS = 60_000;
const MAX_KEY_ID_LENGTH = 200;

export interface SshLoginOrder {
  readonly publicKey: string;
  readonly kind: CertificateKind;
  /** Name or ID of the rule. Required if several rules match the caller. */
  readonly rule: string | undefined;
}

/**
 * SshLoginService issues SSH certificates to users and workloads according to rules. Principals, lifetime and limits are derived from the caller's identity and
 * cannot be specified.
 */
@Injectable()
export class SshLoginService {
  constructor(
    private readonly db: DataSource,
    private readonly certificates: SshCertificatesService,
    private readonly clock: Clock,
  ) {}

  /** Issues a certificate for the caller's key. If a policy requires approval, the certificate stays pending until it is approved. */
  async login(
    caller: Caller,
    { publicKey, kind, rule: named }: SshLoginOrder,
    use?: IdempotentUse,
  ): Promise<SshCertificate> {
    await sealsOf(this.db.manager).assertUpToDate();
    const { subject, claims } = await this.standingOf(caller);
    const found = await authoritiesBy(this.db.manager, { kind });
    const authorities = found.filter((one) => one.kind === kind);
    const about = { subject, enabled: true, authorityId: In(authorities.map(({ id }) => id)) };
    const rules = trustedRows(this.db.manager, SshLoginRule, await this.db.manager.findBy(SshLoginRule, about));
    const origin = await requiredOrigin(this.db.manager, subject, claims);
    const rule = ruleFor(rules, { subject, claims, origin }, named);
    const now = this.clock.now().getTime();
    const { sourceAddress, forceCommand, bindAddress, extensions } = rule;
    const from = bindAddress ? caller.origin.address : sourceAddress;
    const order = {
      publicKey,
      keyId: keyIdOf(caller, rule),
      principals: principalsOf(rule, claims),
      validAfter: new Date(now - EARLIER_MS),
      validBefore: new Date(now + rule.lifeSeconds * 1000),
      ...(from === null ? {} : { sourceAddress: from }),
      ...(forceCommand === null ? {} : { forceCommand }),
      extensions,
      rule: { id: rule.id, revision: rule.revision },
    };
    return this.certificates.issue(caller, rule.authorityId, order, use);
  }

  /** Returns the subject and claims of a caller. Rejects API keys and OAuth clients, which are neither users nor workloads with a verified identity. */
  private async standingOf(caller: Caller): Promise<{ subject: LoginSubject; claims: Claims }> {
    if (caller.identity !== undefined) return { subject: 'workload', claims: caller.identity.claims };
    const { kind, name: email, id: sub } = caller;
    if (kind !== 'user')
      throw new Problem(
        'forbidden',
        'ssh-login.nobody',
        'Only users and workloads can request SSH certificates through login rules.',
      );
    const providers = await this.providersOf(sub);
    return { subject: 'person', claims: { email, sub, ...(providers.length === 0 ? {} : { provider: providers }) } };
  }

  /** Returns the names of the enabled identity providers linked to a user. An email address alone does not identify the provider that asserts it. */
  private async providersOf(userId: string): Promise<string[]> {
    const { manager } = this.db;
    const identities = trustedRows(manager, ExternalIdentity, await manager.findBy(ExternalIdentity, { userId }));
    const ids = identities.filter((one) => one.userId === userId).map(({ providerId }) => providerId);
    const found = await manager.findBy(IdentityProvider, { id: In(ids), enabled: true });
    const providers = trustedRows(manager, IdentityProvider, found);
    return providers.filter(({ enabled }) => enabled).map(({ name }) => name);
  }

  /** Returns a certificate that the caller requested. Other certificates are reported as missing. */
  async find(caller: Caller, id: string): Promise<SshCertificate> {
    const row = await this.db.manager.findOneBy(SshCertificate, { id });
    const request = row?.request ?? undefined;
    // Another run of the same workload can continue with a certificate that an earlier run requested.
    const isFromRun = caller.kind === 'workload' && request !== undefined && isOwnedBy(caller, ownedBy(request));
    if (row !== null && (request?.requestedBy.id === caller.id || isFromRun)) return row;
    throw new Problem('missing', 'ssh-ca.no-certificate', 'You have no SSH certificate with this ID.');
  }
}

function ownedBy({ requestedBy, identity }: CertificateRequest): {
  ownerId: string;
  identity: VerifiedIdentity | null;
} {
  return { ownerId: requestedBy.ownerId, identity: identity ?? null };
}

/** Returns the key ID that sshd logs at each login: the caller and the rule, in printable ASCII. */
function keyIdOf({ name, id }: Caller, rule: SshLoginRule): string {
  const shown = truncate(`${name} by ${rule.name}`.replaceAll(/[^\x20-\x7e]/g, '?'), MAX_KEY_ID_LENGTH);
  return `${shown} ${id}`;
}
