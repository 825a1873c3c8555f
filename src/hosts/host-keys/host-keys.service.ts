import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager, type FindOperator, In, Not } from 'typeorm';
import { AuditService } from '../../audit/entries/audit.service.js';
import type { Caller } from '../../access/caller.js';
import { type ServiceCryptoAsset, ServiceCryptoAssets } from '../../platform/events/service-crypto-assets.js';
import { newId } from '../../platform/database/new-id.js';
import { pagesById } from '../../platform/database/pages-by-id.js';
import { Problem, missing } from '../../platform/errors/problem.js';
import { type SshCertificateContent, readCertificateLine } from '../../formats/ssh/certificate-reader.js';
import { Host } from '../model/host.entity.js';
import { HostKey, type HostKeyState, type Possession } from '../model/host-key.entity.js';
import { HostAuthorities } from './host-authorities.service.js';
import { HostKeyAlerts } from './host-key-alerts.js';
import { certificateFault, certifiedKeys } from './host-key-verdict.js';
import { type PublicKeyBlob, readPublicKeyBlob, readHostKeyLine, unreadableHostKey } from './public-key-blob.js';

/** Maximum number of keys read per host, separately for pinned, rejected and other keys. */
const MAX_KNOWN = 100;
const SYSTEM = { kind: 'system', id: 'hosts', name: 'hosts' } as const;

/** SeenHostKey is a key that a host presented. */
export interface SeenHostKey {
  readonly key: PublicKeyBlob;
  readonly possession: Possession;
  /** State of the key if it is new. A known key keeps its state. */
  readonly state: HostKeyState;
}

/** HostKeysService manages the host keys that hosts have presented or that users have entered. */
@Injectable()
export class HostKeysService {
  constructor(
    private readonly db: DataSource,
    private readonly audit: AuditService,
    private readonly authorities: HostAuthorities,
    private readonly alerts: HostKeyAlerts,
  ) {}

  async list(hostId: string): Promise<HostKey[]> {
    if (!(await this.db.manager.existsBy(Host, { id: hostId }))) throw missing('host');
    return await this.known(hostId);
  }

  /**
   * Returns the pinned keys of a host, then the rejected keys, then all other keys. Each group is sorted by first sighting and limited separately, so that a
   * host cannot displace pinned or rejected keys by presenting many keys.
   */
  async known(hostId: string): Promise<HostKey[]> {
    const find = (state: HostKeyState | FindOperator<HostKeyState>) =>
      this.db.manager.find(HostKey, { where: { hostId, state }, order: { id: 'ASC' }, take: MAX_KNOWN });
    return [
      ...(await find('pinned')),
      ...(await find('rejected')),
      ...(await find(Not(In<HostKeyState>(['pinned', 'rejected'])))),
    ];
  }

  /**
   * Pins a key that the caller obtained from a trusted source, whether or not the host has presented the key. If `line` is a certificate, stores the
   * certificate.
   */
  async pin(caller: Caller, hostId: string, line: string): Promise<HostKey> {
    const certificate = readCertificateLine(line);
    if (certificate !== undefined) return await this.certify(caller, hostId, certificate);
    const key = readHostKeyLine(line);
    if (key === undefined) throw unreadableHostKey(line);
    await this.list(hostId);
    await this.db.transaction((tx) =>
      this.insert(tx, hostId, { key, possession: 'claimed', state: 'tofu-pending' }, null),
    );
    const row = await this.db.manager.findOneByOrFail(HostKey, { hostId, fingerprint: key.fingerprint });
    return await this.decide(caller, hostId, row.id, 'pinned');
  }

  /** Stores a certificate for a host with the `ca` policy. Throws Problem `host-key.certificate` if the certificate is not currently valid for this host. */
  private async certify(caller: Caller, hostId: string, certificate: SshCertificateContent): Promise<HostKey> {
    const host = await this.db.manager.findOneBy(Host, { id: hostId });
    if (host === null) throw missing('host');
    const detail = certificateFault(certificate, host, await this.authorities.list(), new Date());
    const key = readPublicKeyBlob(certificate.key.blob);
    if (detail !== undefined || key === undefined) {
      const errors = [{ pointer: '/publicKey', detail: detail ?? 'cannot be parsed' }];
      throw new Problem('refused', 'host-key.certificate', `/publicKey: ${detail ?? 'cannot be parsed'}.`, { errors });
    }
    const { fingerprint } = key;
    await this.db.transaction(async (tx) => {
      await this.insert(tx, hostId, { key, possession: 'claimed', state: 'tofu-pending' }, null);
      await tx.update(HostKey, { hostId, fingerprint }, { certificate: certificate.blob });
      const { authority, keyId, serial } = certificate;
      const certified = { fingerprint, authority, keyId, serial: String(serial) };
      const target = { kind: 'host', id: hostId };
      await this.audit.appendBy(tx, caller, { action: 'host-key.certified', target, detail: certified });
    });
    return await this.db.manager.findOneByOrFail(HostKey, { hostId, fingerprint });
  }

  /** Returns the keys of a host and, for the `ca` policy, the keys that a trusted authority currently certifies. */
  async certified(host: Host): Promise<{ known: HostKey[]; certified: HostKey[] }> {
    const known = await this.known(host.id);
    if (host.hostKeyPolicy !== 'ca') return { known, certified: [] };
    return { known, certified: certifiedKeys(known, host, await this.authorities.list(), new Date()) };
  }

  /** Confirms or rejects a key. A confirmed key replaces the pinned keys of its type: a machine that presents an old key is then no longer trusted. */
  async decide(caller: Caller, hostId: string, keyId: string, state: 'pinned' | 'rejected'): Promise<HostKey> {
    await this.db.transaction(async (tx) => {
      const key = await tx.findOneBy(HostKey, { id: keyId, hostId });
      if (key === null) throw new Problem('missing', 'host-key.missing', 'Host key not found.');
      const decision = { decidedBy: caller.name, decidedAt: () => 'now()' };
      if (state === 'pinned') await this.rejectPinned(tx, hostId, key.type, caller);
      await tx.update(HostKey, { id: keyId }, { state, ...decision });
      await this.alerts.decided(tx, hostId);
      const action = state === 'pinned' ? 'host-key.accepted' : 'host-key.rejected';
      const detail = { fingerprint: key.fingerprint, type: key.type, was: key.state };
      const target = { kind: 'host', id: hostId };
      await this.audit.appendBy(tx, caller, { action, target, detail });
    });
    return await this.db.manager.findOneByOrFail(HostKey, { id: keyId });
  }

  /** Adds a key from an imported file inside the caller's transaction. Returns true if the host did not have the key. */
  async enter(
    tx: EntityManager,
    caller: Caller,
    hostId: string,
    key: PublicKeyBlob,
    state: Exclude<HostKeyState, 'changed'>,
  ): Promise<boolean> {
    const isNew = await this.insert(tx, hostId, { key, possession: 'claimed', state: 'tofu-pending' }, null);
    if (state === 'tofu-pending') return isNew;
    const { id, state: was } = await tx.findOneByOrFail(HostKey, { hostId, fingerprint: key.fingerprint });
    if (was === state) return false;
    const decision = { decidedBy: caller.name, decidedAt: () => 'now()' };
    // An import does not undo a rejection.
    if (was === 'rejected') return false;
    // A changed key in a trusted file replaces the pinned key, as if a user had accepted it.
    if (was === 'changed' && state === 'pinned') await this.rejectPinned(tx, hostId, key.type, caller);
    await tx.update(HostKey, { id }, { state, ...decision });
    if (was === 'changed') await this.alerts.decided(tx, hostId);
    const action = state === 'pinned' ? 'host-key.accepted' : 'host-key.rejected';
    const detail = { fingerprint: key.fingerprint, type: key.type, was, by: 'import' };
    const target = { kind: 'host', id: hostId };
    await this.audit.appendBy(tx, caller, { action, target, detail });
    return true;
  }

  /** Records the keys that a host presented. A new key in place of a trusted key is recorded in the audit log and raises an alert once. */
  async note(hostId: string, seen: readonly SeenHostKey[], correlation: string): Promise<void> {
    await this.db.transaction(async (tx) => {
      const fresh: PublicKeyBlob[] = [];
      for (const one of seen) {
        const isNew = await this.insert(tx, hostId, one, new Date());
        if (one.state !== 'changed') continue;
        if (isNew || (await this.markChanged(tx, hostId, one.key.fingerprint))) fresh.push(one.key);
      }
      const target = { kind: 'host', id: hostId };
      await this.audit.append(
        tx,
        fresh.map(({ fingerprint, type }) => ({
          action: 'host-key.changed',
          outcome: 'refused',
          actor: SYSTEM,
          target,
          correlation,
          detail: { fingerprint, type },
        })),
      );
      await this.alerts.changed(tx, hostId, fresh);
    });
  }

  /**
   * Marks a pending key as changed. A scan may have recorded the key as pending before a login saw the key.
   *
   * @returns false if the key was not pending
   */
  private async markChanged(tx: EntityManager, hostId: string, fingerprint: string): Promise<boolean> {
    const { affected } = await tx.update(HostKey, { hostId, fingerprint, state: 'tofu-pending' }, { state: 'changed' });
    return affected === 1;
  }

  /** Rejects the pinned keys of a type, because another key replaces them. */
  private async rejectPinned(tx: EntityManager, hostId: string, type: string, caller: Caller): Promise<void> {
    const decision = { decidedBy: caller.name, decidedAt: () => 'now()' };
    await tx.update(HostKey, { hostId, type, state: 'pinned' }, { state: 'rejected', ...decision });
  }

  /** Inserts a key and returns true if the key was unknown. A known key is only marked as seen. */
  private async insert(tx: EntityManager, hostId: string, seen: SeenHostKey, at: Date | null): Promise<boolean> {
    const { key, possession, state } = seen;
    const rows: { fresh: boolean }[] = await tx.query(
      `INSERT INTO host_key (id, host_id, fingerprint, type, bits, blob, state, possession, last_seen)
       SELECT $1, host.id, $3, $4, $5, $6, $7, $8, $9 FROM host WHERE host.id = $2
       ON CONFLICT (host_id, fingerprint) DO UPDATE SET last_seen = coalesce(excluded.last_seen, host_key.last_seen),
         possession = CASE WHEN excluded.possession = 'proven' THEN 'proven' ELSE host_key.possession END
       RETURNING id = $1 AS fresh`,
      [newId(), hostId, key.fingerprint, key.type, key.bits, key.blob, state, possession, at],
    );
    return rows[0]?.fresh === true;
  }
}

/** OwnHostKeys reports the pinned host keys as cryptographic assets of the service, because the service's logins depend on these keys. */
@Injectable()
export class OwnHostKeys {
  constructor(
    own: ServiceCryptoAssets,
    private readonly db: DataSource,
  ) {
    own.serve('hosts', () => this.list());
  }

  private async list(): Promise<ServiceCryptoAsset[]> {
    const assets: ServiceCryptoAsset[] = [];
    for await (const rows of pagesById<PinnedKey>((after, limit) => this.db.query(PINNED, [after, limit])))
      for (const { address, port, type, blob } of rows)
        assets.push({
          publicKey: `${type} ${blob.replaceAll('\n', '')}`,
          occurrence: { location: `${address}:${port}` },
        });
    return assets;
  }
}

interface PinnedKey {
  readonly id: string;
  readonly address: string;
  readonly port: number;
  readonly type: string;
  /** Base64 of the public key, with line breaks. */
  readonly blob: string;
}

/** The subquery applies the limit before the join, so that hosts are looked up only for the rows of the page. */
const PINNED = `
  SELECT k.id, h.address, h.port, k.type, encode(k.blob, 'base64') AS blob
  FROM (SELECT id, host_id, type, blob FROM host_key WHERE state = 'pinned' AND id > $1 ORDER BY id LIMIT $2) k JOIN host h ON h.id = k.host_id
  ORDER BY k.id`;
